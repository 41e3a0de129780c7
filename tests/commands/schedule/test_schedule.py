"""assay.schedule and assay.scheduled_runs."""

from __future__ import annotations

import pytest

import assay
from assay.commands.schedule import run_log
from assay.commands.schedule.run_log import PlanRunLine
from assay.core.errors import UsageError


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "nightly.toml"
    path.write_text('[run]\ncases = ["mnist-mlp"]\n[alerts]\nto = ["env:ASSAY_HOOK"]\n')
    return path


def test_the_command_names_plan_rhythm_and_store(plan, home):
    (text,) = assay.schedule(plan, every="week", store=home).values()

    assert f"-m assay run --plan {plan} --every week --home {home}" in text
    assert "# it needs ASSAY_HOOK" in text


def test_a_store_s_password_is_not_written_down(plan):
    (text,) = assay.schedule(plan, store="postgresql://me:geheim@db/bench").values()

    assert "geheim" not in text and "# it needs ASSAY_STORE" in text


def test_a_plan_that_was_never_carried_out_is_said(plan, home):
    with pytest.raises(UsageError, match="has never run"):
        assay.scheduled_runs(plan, "night", home)


def test_a_missed_night_is_the_last_one(plan, home):
    run_log.write("nightly", home, PlanRunLine(started="2026-01-01T02:00:00Z", ended="x"))

    (_, missed) = assay.scheduled_runs(plan, "night", home)

    assert missed.status == 1 and "nights were missed" in missed.findings[0]
    assert len(assay.scheduled_runs(plan, store=home)) == 1

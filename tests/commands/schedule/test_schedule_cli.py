"""assay schedule: prints, writes, and says whether it was kept to."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "nightly.toml"
    path.write_text('[run]\ncases = ["mnist-mlp"]\n')
    return str(path)


def test_cron_is_printed_and_json_has_the_files(assay, plan):
    status, out, _ = assay("schedule", "--plan", plan, "--at", "1:05")
    assert status == 0 and "\n5 1 * * * cd " in out

    files = json.loads(assay("schedule", "--plan", plan, "--as", "systemd", "--format", "json")[1])
    assert list(files) == ["assay-nightly.service", "assay-nightly.timer"]


def test_files_are_written(assay, plan, tmp_path):
    words = ("--plan", plan, "--as", "github-actions", "--write", str(tmp_path))
    assert assay("schedule", *words)[0] == 0

    assert (tmp_path / ".github" / "workflows" / "assay-nightly.yml").is_file()


def test_status_of_a_plan_never_carried_out_is_a_mistake(assay, plan):
    status, _, err = assay("schedule", "--plan", plan, "--status")

    assert status == 2 and "has never run" in err


def test_a_wrong_time_leaves_with_2(assay, plan):
    assert assay("schedule", "--plan", plan, "--at", "noon")[0] == 2

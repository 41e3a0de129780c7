"""Logs of many programs against answers worked out by hand."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import pytest

from assay.logs.reader import LogReader
from assay.logs.task import Metric

LOGS = Path(__file__).parent / "logs"
ANSWERS = tomllib.loads((LOGS / "answers.toml").read_text())
EXPECTED = ("value", "count", "reason", "note", "rule")


def metrics_of(name):
    return [
        Metric(name=metric, **{key: value for key, value in row.items() if key not in EXPECTED})
        for metric, row in ANSWERS[name]["metrics"].items()
    ]


def read(name, chunk):
    data = (LOGS / f"{name}.log").read_bytes()
    with LogReader(metrics_of(name)) as reader:
        for start in range(0, len(data), chunk):
            reader.feed(data[start : start + chunk])
        return reader.finish()


def test_there_are_answers_for_at_least_thirty_logs_and_for_every_log():
    logs = {path.stem for path in LOGS.glob("*.log")}
    assert logs == set(ANSWERS)
    assert len(logs) >= 30


@pytest.mark.parametrize("name", ANSWERS)
def test_a_log_gives_the_answers_worked_out_by_hand(name):
    outcome = read(name, chunk=1 << 16)
    for found in outcome.metrics:
        row = ANSWERS[name]["metrics"][found.metric.name]
        assert found.count == row["count"], found
        assert found.value == pytest.approx(row.get("value", math.nan), rel=1e-12, nan_ok=True)
        assert found.status == ("failed" if "reason" in row else "ok"), found
        assert row.get("reason", "") in found.reason
        assert row.get("note", "") in " ".join(found.notes)
        assert (found.closing.rule if found.closing else "") == row.get("rule", "")


@pytest.mark.parametrize("name", ANSWERS)
def test_a_log_ends_as_its_last_lines_say(name):
    outcome = read(name, chunk=1 << 16)
    failed = any("reason" in row for row in ANSWERS[name]["metrics"].values())
    assert outcome.status == ANSWERS[name].get("status", "failed" if failed else "ok")
    assert bool(outcome.reason) == (outcome.status != "ok")


@pytest.mark.parametrize("chunk", [1, 7, 100])
@pytest.mark.parametrize("name", ANSWERS)
def test_how_a_log_is_cut_into_chunks_changes_nothing(name, chunk):
    whole, cut = read(name, chunk=1 << 16), read(name, chunk)
    assert repr(cut) == repr(whole)  # repr: nan differs from itself

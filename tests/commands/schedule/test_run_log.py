"""Which nights were missed or lost."""

from __future__ import annotations

from datetime import datetime

import pytest

from assay.commands.schedule import run_log
from assay.commands.schedule.run_log import PlanRunLine
from assay.core.errors import UsageError

NIGHT = PlanRunLine(started="2026-11-10T02:00:00Z", ended="2026-11-10T03:00:00Z")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    "every, now, found",
    [
        ("night", "2026-11-11T02:00:05Z", []),
        ("night", "2026-11-11T13:00:00Z", []),
        ("night", "2026-11-12T02:00:00Z", ["1 night was missed: the last began at"]),
        ("night", "2026-11-15T02:10:00Z", ["4 nights were missed: the last began at"]),
        ("week", "2026-11-17T02:00:00Z", []),
        ("hour", "2026-11-10T05:00:00Z", ["2 hours were missed: the last began at"]),
        ("", "2027-01-01T00:00:00Z", []),
    ],
)
def test_what_was_missed_is_counted(every, now, found):
    trouble = run_log.problems([NIGHT], every, at(now))

    assert [text[: text.index(" 2026")] for text in trouble] == found


def test_a_night_without_an_end_was_lost():
    lost = PlanRunLine(started="2026-11-10T02:00:00Z")

    assert run_log.problems([lost], "night", at("2026-11-11T02:00:00Z")) == [
        "the night of 2026-11-10T02:00:00Z began, but never ended"
    ]


def test_lines_that_were_cut_are_left_out_and_the_end_counts(home):
    run_log.write("nightly", home, PlanRunLine(started=NIGHT.started))
    run_log.write("nightly", home, NIGHT)
    with open(run_log.folder("nightly", home) / "nights.jsonl", "ab") as file:
        file.write(b'{"started": "2026-11-')

    assert run_log.lines("nightly", home) == [NIGHT]


def test_two_at_a_time_are_refused(home):
    with (
        run_log.lock_plan("nightly", home),
        pytest.raises(UsageError, match="is already running"),
        run_log.lock_plan("nightly", home),
    ):
        pass

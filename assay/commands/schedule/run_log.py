"""The log of a plan's runs: a line when a run starts, a line when it ends.

A run without its second line was lost with its machine; a run without any line was missed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from assay.commands.check.api import CheckReport
from assay.core import settings
from assay.core.corrupt import explain_write_errors
from assay.core.errors import UsageError
from assay.core.records import SCHEMA
from assay.core.settings import Home
from assay.core.systems import lock_file
from assay.platforms.sinks.records import Upload

Every = Literal["hour", "night", "week"]
SECONDS: dict[str, float] = {"hour": 3600.0, "night": 86400.0, "week": 7 * 86400.0}
FOLDER = "plans"  # below the home folder


def folder(plan: str, home: Home) -> Path:
    """The folder of a plan's log and checkouts."""
    return settings.home(home) / FOLDER / plan


@contextmanager
def lock_plan(plan: str, home: Home) -> Iterator[None]:
    """Lock the plan: two runs at a time would disturb each other."""
    directory = folder(plan, home)
    with explain_write_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "ab") as file:
        try:
            lock_file(file, wait=False)
        except BlockingIOError:
            raise UsageError(
                f"The plan {plan} is already running.", hint="Wait until it ends."
            ) from None
        yield


def write(plan: str, home: Home, line: PlanRunLine) -> None:
    """One whole line at the end, on the disk when this returns."""
    path = folder(plan, home) / "nights.jsonl"
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def lines(plan: str, home: Home) -> list[PlanRunLine]:
    """Every run, oldest first: its last line."""
    path = folder(plan, home) / "nights.jsonl"
    if not path.is_file():
        return []
    nights: dict[str, PlanRunLine] = {}
    for text in path.read_bytes().splitlines():
        try:
            line = msgspec.json.decode(text, type=PlanRunLine)
        except msgspec.DecodeError:  # cut by a lost machine
            continue
        nights[line.started] = line
    return list(nights.values())


def problems(nights: list[PlanRunLine], every: str, now: datetime) -> list[str]:
    """Problems of the runs so far, each in a sentence: missed, or started and never ended."""
    if not nights:
        return []
    problems = []
    last = nights[-1]
    if not last.ended:
        problems.append(f"the {_status_word(every)} of {last.started} began, but never ended")
    missed = _missed_runs(last, every, now)
    if missed:
        words = f"{missed} {_status_word(every)}{'s' if missed > 1 else ''}"
        was = "were" if missed > 1 else "was"
        problems.append(f"{words} {was} missed: the last began at {last.started}")
    return problems


def _missed_runs(last: PlanRunLine, every: str, now: datetime) -> int:
    """Half of the interval is leeway: a machine may be slow to start, or be asleep for a while."""
    if not every:
        return 0
    passed = (now - datetime.fromisoformat(last.started)).total_seconds()
    return max(0, int(passed / SECONDS[every] + 0.5) - 1)


def _status_word(every: str) -> str:
    return every or "night"


class PlanRunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the log: a run started, or ended with these findings."""

    started: str  # UTC, ISO 8601: identifies the run
    ended: str = ""  # "": it never did
    status: int = 0  # of the command line
    runs: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


class PlanRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a plan file."""

    plan: str  # its name
    started: str
    ended: str
    runs: tuple[str, ...] = ()
    results: dict[str, str] = {}  # id → how it ended
    findings: tuple[str, ...] = ()  # what went wrong, each in a sentence
    checked: CheckReport | None = None
    uploads: tuple[Upload, ...] = ()
    alerts: tuple[str, ...] = ()  # how each alert fared, in words
    status: int = 0
    schema: int = SCHEMA
    kind: Literal["night"] = "night"

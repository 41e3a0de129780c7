"""What became of each night of a plan: a line when it begins, a line when it ends.

A night without its second line was lost with its machine; a night without any line was missed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from assay.commands.check.api import Checked
from assay.core import settings
from assay.core.corrupt import writing
from assay.core.errors import UsageError
from assay.core.records import SCHEMA
from assay.core.settings import Home
from assay.platforms.sinks.records import Upload

Every = Literal["hour", "night", "week"]
SECONDS: dict[str, float] = {"hour": 3600.0, "night": 86400.0, "week": 7 * 86400.0}
FOLDER = "plans"  # below the home folder


def folder(plan: str, home: Home) -> Path:
    """Where a plan keeps its nights and its checkouts."""
    return settings.home(home) / FOLDER / plan


@contextmanager
def only_one(plan: str, home: Home) -> Iterator[None]:
    """Two nights of one plan at a time would measure each other."""
    place = folder(plan, home)
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"The plan {plan} is being carried out already.", hint="Wait until it ends."
            ) from None
        yield


def write(plan: str, home: Home, line: NightLine) -> None:
    """One whole line at the end, on the disk when this returns."""
    place = folder(plan, home) / "nights.jsonl"
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with open(place, "ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def lines(plan: str, home: Home) -> list[NightLine]:
    """Every night, oldest first: its end where it has one, else its beginning."""
    place = folder(plan, home) / "nights.jsonl"
    if not place.is_file():
        return []
    found: dict[str, NightLine] = {}
    for text in place.read_bytes().splitlines():
        try:
            line = msgspec.json.decode(text, type=NightLine)
        except msgspec.DecodeError:  # cut by a lost machine
            continue
        found[line.started] = line
    return list(found.values())


def trouble(kept: list[NightLine], every: str, now: datetime) -> list[str]:
    """What is wrong with the nights so far, each in a sentence: missed, or begun and never ended.

    How a night that ended came out is in its own findings.
    """
    if not kept:
        return []
    found = []
    last = kept[-1]
    if not last.ended:
        found.append(f"the {_word(every)} of {last.started} began, but never ended")
    missed = _missed(last, every, now)
    if missed:
        words = f"{missed} {_word(every)}{'s' if missed > 1 else ''}"
        was = "were" if missed > 1 else "was"
        found.append(f"{words} {was} missed: the last began at {last.started}")
    return found


def _missed(last: NightLine, every: str, now: datetime) -> int:
    """Half of the interval is leeway: a machine may be slow to start, or be asleep for a while."""
    if not every:
        return 0
    passed = (now - datetime.fromisoformat(last.started)).total_seconds()
    return max(0, int(passed / SECONDS[every] + 0.5) - 1)


def _word(every: str) -> str:
    return every or "night"


class NightLine(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a night: that it began, or that it ended with these findings."""

    started: str  # UTC, ISO 8601: which night it is
    ended: str = ""  # "": it never did
    status: int = 0  # of the command line
    runs: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """A plan file, carried out once."""

    plan: str  # its name
    started: str
    ended: str
    runs: tuple[str, ...] = ()
    results: dict[str, str] = {}  # id → how it ended
    findings: tuple[str, ...] = ()  # what went wrong, each in a sentence
    checked: Checked | None = None
    uploads: tuple[Upload, ...] = ()
    alerts: tuple[str, ...] = ()  # how each alert fared, in words
    status: int = 0
    schema: int = SCHEMA
    kind: Literal["night"] = "night"

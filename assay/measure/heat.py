"""A heat: several cases warm at the same time, each in a fresh process, sampled in turns."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from assay.core.messages import OutputValues
from assay.core.progress import Progress, ProgressCallback
from assay.core.records import Procedure, Result, Samples
from assay.measure.batch_size import available_memory
from assay.measure.case import OUT_OF_TIME, HeatEntry, Racer

# Cases that take turns, if they fit: more where there are cores to load and compile them.
TOGETHER = max(4, len(os.sched_getaffinity(0)) * 3 // 4)
PLENTY = 8 << 30  # bytes: with so much memory for each nobody has to show first what one takes
ROOM = 1.2  # memory that must be left to open one more, as a multiple of the largest so far

UNSTEPPED = "one of them times itself, so that it cannot be stepped in turns"
NO_ROOM = "they do not fit in memory together"


class Heat(NamedTuple):
    """How a heat ended."""

    results: dict[str, Result]
    outputs: dict[str, OutputValues]
    opening: float  # seconds until all were warm
    apart: dict[str, str]  # who could not take part beside the others, and why


class Turns(NamedTuple):
    """How far a heat is."""

    taken: Mapping[str, Sequence[Samples]]  # the turns of each who is still in
    opening: float  # seconds it took to open all
    spent: float  # seconds that the turns took, of all together


KeepGoing = Callable[[Turns], bool]


def run_heat(
    entries: Sequence[HeatEntry],
    procedure: Procedure,
    progress: ProgressCallback,
    keep_going: KeepGoing,
    seed: int = 0,
    room: Callable[[], int] = available_memory,
    deadlines: Sequence[float] = (),
) -> Heat:
    """Open, warm up one after the other, then turns, in an order drawn anew each round.

    Who does not end well, or is not warm by its deadline, is out; with fewer than two left there
    is nobody to compare.
    """
    begun = opened = time.monotonic()
    limits = deadlines or [math.inf] * len(entries)
    racers = [Racer(entry, procedure, at) for entry, at in zip(entries, limits, strict=True)]
    apart: dict[str, str] = {}
    with ExitStack() as stack:
        for racer in racers:
            stack.callback(racer.close)
        try:
            apart = _open_all(racers, progress, room)
            opened = time.monotonic()
            _take_turns(racers, keep_going, random.Random(seed), opened - begun)
            _end_without_turns(racers)
            for racer in racers:
                racer.check()
        except KeyboardInterrupt as error:
            for racer in racers:
                racer.end("interrupted", str(error) or "by Ctrl-C")
    return Heat(
        results={racer.name: racer.result() for racer in racers},
        outputs={racer.name: racer.outputs for racer in racers if racer.outputs},
        opening=opened - begun,
        apart=apart,
    )


def _open_all(
    racers: Sequence[Racer], progress: ProgressCallback, room: Callable[[], int]
) -> dict[str, str]:
    """Who cannot be warm beside those opened before it, and why.

    Where memory is plenty, or enough for what each took before, all load and compile at once, which
    is most of opening: the times of that are those of a crowd. Else the first comes alone and shows
    how much memory one takes, and the others at once if there is room for all. Warm-up is each
    one's own in any case.
    """
    first, *others = racers
    before = room()
    if before >= sum(ROOM * racer.memory or PLENTY for racer in racers):
        _open(racers, progress)
        return _apart(racers)
    _open([first], progress)
    left = room()
    largest = before - left
    if left >= ROOM * largest * len(others):
        _open(others, progress)
        return _apart(racers, first)
    for racer in others:
        if (before := room()) < ROOM * largest:
            racer.end("skipped", NO_ROOM)
            continue
        _open([racer], progress)
        largest = max(largest, before - room())
    return _apart(racers, first)


def _open(racers: Sequence[Racer], progress: ProgressCallback) -> None:
    for racer in racers:
        racer.end_if_late()
        progress(Progress(case=racer.case, phase="open"))
        racer.start()
    for racer in racers:
        _end_late(racers)
        racer.open()
        progress(Progress(case=racer.case, phase="first"))
    for racer in racers:
        _end_late(racers)
        racer.first()
    for racer in racers:
        _end_late(racers)
        racer.warm(progress)


def _end_late(racers: Sequence[Racer]) -> None:
    """Before another is waited for, which they would only slow down."""
    for racer in racers:
        racer.end_if_late()


def _apart(racers: Sequence[Racer], alone: Racer | None = None) -> dict[str, str]:
    """Nothing was in the way of the one who came alone."""
    return {racer.name: why for racer in racers if (why := _why_apart(racer, alone))}


def _why_apart(racer: Racer, alone: Racer | None) -> str:
    if racer.status == "ok" and not racer.steps:
        racer.end("skipped", UNSTEPPED)
        return UNSTEPPED
    crowded = racer.status == "out-of-memory" or racer.reason == NO_ROOM
    return NO_ROOM if crowded and racer is not alone else ""


def _take_turns(
    racers: Sequence[Racer], keep_going: KeepGoing, order: random.Random, opening: float
) -> None:
    while True:
        left = [racer for racer in racers if racer.status == "ok"]
        taken = {racer.name: racer.turns for racer in left}
        spent = sum(racer.spent for racer in left)
        if len(left) < 2 or not keep_going(Turns(taken, opening, spent)):
            return
        for racer in order.sample(left, len(left)):
            racer.turn()


def _end_without_turns(racers: Sequence[Racer]) -> None:
    """Who was warm in time, but had nobody left to take turns with: nothing is known of it."""
    if any(racer.reason == OUT_OF_TIME for racer in racers):
        for racer in racers:
            if racer.status == "ok" and not racer.turns:
                racer.end("skipped", OUT_OF_TIME)

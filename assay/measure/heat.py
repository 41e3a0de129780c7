"""A heat: several cases warm at the same time, each in a fresh process, sampled in turns."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from assay.core.messages import OutputValues
from assay.core.progress import ProgressCallback
from assay.core.records import Procedure, Result, Samples
from assay.measure.batch_size import available_memory
from assay.measure.case import OUT_OF_TIME, HeatEntry, OpenCase
from assay.measure.result_builder import ResultBuilder

# Cases that take turns, if they fit: more where there are cores to load and compile them.
TOGETHER = max(4, len(os.sched_getaffinity(0)) * 3 // 4)
PLENTY = 8 << 30  # bytes: with so much memory for each nobody has to show first what one takes
ROOM = 1.2  # memory that must be left to open one more, as a multiple of the largest so far

UNSTEPPED = "one of them times itself, so that it cannot be stepped in turns"
NO_ROOM = "they do not fit in memory together"


class Heat(NamedTuple):
    """How far a heat is, and in the end its results."""

    results: Mapping[str, Result] = {}
    outputs: Mapping[str, OutputValues] = {}
    opening: float = 0.0  # seconds until all were warm
    apart: Mapping[str, str] = {}  # who could not take part beside the others, and why
    turns: Mapping[str, Sequence[Samples]] = {}  # while it goes on: of each who is still in
    spent: float = 0.0  # seconds that these turns took, of all together


KeepGoing = Callable[[Heat], bool]


def run_heat(
    entries: Sequence[HeatEntry],
    procedure: Procedure,
    progress: ProgressCallback,
    keep_going: KeepGoing,
    seed: int = 0,
    room: Callable[[], int] = available_memory,
) -> Heat:
    """Open, warm up one after the other, then turns, in an order drawn anew each round.

    Who does not end well, or is not warm by its deadline, is out; with fewer than two left there
    is nobody to compare.
    """
    start = opened = time.monotonic()
    cases = [_open_case(entry, procedure, progress) for entry in entries]
    apart: dict[str, str] = {}
    with ExitStack() as stack:
        for one in cases:
            stack.callback(one.close)
        try:
            apart = _open_all(cases, room)
            opened = time.monotonic()
            _take_turns(cases, keep_going, random.Random(seed), opened - start)
            _end_without_turns(cases)
            _check(cases)
        except KeyboardInterrupt as error:
            for one in cases:
                one.end("interrupted", str(error) or "by Ctrl-C")
    return Heat(
        results={one.name: one.result() for one in cases},
        outputs={one.name: one.outputs for one in cases if one.outputs},
        opening=opened - start,
        apart=apart,
    )


def _open_case(entry: HeatEntry, procedure: Procedure, progress: ProgressCallback) -> OpenCase:
    builder = ResultBuilder(entry.case, procedure, entry.place, entry.known)
    return OpenCase(entry, procedure, progress, builder)


def _open_all(cases: Sequence[OpenCase], room: Callable[[], int]) -> dict[str, str]:
    """Who cannot be warm beside those opened before it, and why.

    Where memory is plenty, or enough for what each took before, all load and compile at once, which
    is most of opening: the times of that are those of a crowd. Else the first comes alone and shows
    how much memory one takes, and the others at once if there is room for all. Warm-up is each
    one's own in any case.
    """
    first, *others = cases
    before = room()
    if before >= sum(ROOM * one.memory or PLENTY for one in cases):
        _open(cases)
        return _apart(cases)
    _open([first])
    left = room()
    largest = before - left
    if left >= ROOM * largest * len(others):
        _open(others)
        return _apart(cases, first)
    for one in others:
        if (before := room()) < ROOM * largest:
            one.end("skipped", NO_ROOM)
            continue
        _open([one])
        largest = max(largest, before - room())
    return _apart(cases, first)


def _open(cases: Sequence[OpenCase]) -> None:
    for one in cases:
        one.end_if_late()
        one.resume()
        one.check_supported()
        one.start()
    for one in cases:
        _end_late(cases)
        one.open()
        one.get_outputs()
        one.start_first_step()
    for one in cases:
        _end_late(cases)
        one.first_step()
        one.pause()
    for one in cases:
        _end_late(cases)
        one.resume(renew_timeout=True)
        one.warm_up()
        one.warm_up_tokens()
        one.pause()


def _end_late(cases: Sequence[OpenCase]) -> None:
    """Before another is waited for, which they would only slow down."""
    for one in cases:
        one.end_if_late()


def _apart(cases: Sequence[OpenCase], alone: OpenCase | None = None) -> dict[str, str]:
    """Nothing was in the way of the one who came alone."""
    return {one.name: why for one in cases if (why := _why_apart(one, alone))}


def _why_apart(one: OpenCase, alone: OpenCase | None) -> str:
    if one.status == "ok" and not one.steps:
        one.end("skipped", UNSTEPPED)
        return UNSTEPPED
    crowded = one.status == "out-of-memory" or one.reason == NO_ROOM
    return NO_ROOM if crowded and one is not alone else ""


def _take_turns(
    cases: Sequence[OpenCase], keep_going: KeepGoing, order: random.Random, opening: float
) -> None:
    while True:
        left = [one for one in cases if one.status == "ok"]
        turns = {one.name: one.turns for one in left}
        spent = sum(one.spent for one in left)
        if len(left) < 2 or not keep_going(Heat(opening=opening, turns=turns, spent=spent)):
            return
        for one in order.sample(left, len(left)):
            one.take_turn()


def _check(cases: Sequence[OpenCase]) -> None:
    for one in cases:
        if one.turns and one.first:
            one.resume()
            one.check()


def _end_without_turns(cases: Sequence[OpenCase]) -> None:
    """Who was warm in time, but had nobody left to take turns with: nothing is known of it."""
    if any(one.reason == OUT_OF_TIME for one in cases):
        for one in cases:
            if one.status == "ok" and not one.turns:
                one.end("skipped", OUT_OF_TIME)

"""A heat: several warm cases, each in a fresh process, sampled in turns."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from assay.core.messages import OutputValues
from assay.core.progress import ProgressCallback
from assay.core.records import Procedure, Result, Samples
from assay.core.systems import cpu_count
from assay.measure.batch_size import available_memory
from assay.measure.case import OUT_OF_TIME, HeatEntry, OpenCase
from assay.measure.result_builder import ResultBuilder

# Maximum number of cases in a heat: more with more cores, which load and compile them.
MAX_OPEN_CASES = max(4, cpu_count() * 3 // 4)
AMPLE_MEMORY = 8 << 30  # bytes per case: with that much all are opened at once, unmeasured
MEMORY_MARGIN = 1.2  # free memory needed to open one more, as a multiple of the largest so far

SELF_TIMED_REASON = "one of them times itself, so it cannot take turns"
OUT_OF_MEMORY_REASON = "they do not fit in memory together"


class Heat(NamedTuple):
    """The state of a heat and, at its end, the results."""

    results: Mapping[str, Result] = {}
    outputs: Mapping[str, OutputValues] = {}
    opening: float = 0.0  # seconds until all were warm
    excluded: Mapping[str, str] = {}  # cases that could not be interleaved, and why
    turns: Mapping[str, Sequence[Samples]] = {}  # of each case still in, while it runs
    spent: float = 0.0  # seconds of all these turns

    @property
    def round_seconds(self) -> float:
        """Of a round of turns; each has a step that does not count, which of long steps takes as
        long again. 0 before the first."""
        rounds = min((len(samples) for samples in self.turns.values()), default=0)
        return 2 * self.spent / rounds if rounds else 0.0


KeepGoing = Callable[[Heat], bool]


def run_heat(
    entries: Sequence[HeatEntry],
    procedure: Procedure,
    progress: ProgressCallback,
    keep_going: KeepGoing,
    seed: int = 0,
    room: Callable[[], int] = available_memory,
) -> Heat:
    """Open, warm up one after the other, then take turns, in a new random order each round.

    A case that fails or misses its deadline leaves the heat, which ends with fewer than two.
    """
    start = opened = time.monotonic()
    cases = [_open_case(entry, procedure, progress) for entry in entries]
    excluded: dict[str, str] = {}
    with ExitStack() as stack:
        for case in cases:
            stack.callback(case.close)
        try:
            excluded = _open_all(cases, room)
            opened = time.monotonic()
            _take_turns(cases, keep_going, random.Random(seed), opened - start)
            _end_without_turns(cases)
            _check(cases)
        except KeyboardInterrupt as error:
            for case in cases:
                case.end("interrupted", str(error) or "by Ctrl-C")
    return Heat(
        results={case.name: case.result() for case in cases},
        outputs={case.name: case.outputs for case in cases if case.outputs},
        opening=opened - start,
        excluded=excluded,
    )


def _open_case(entry: HeatEntry, procedure: Procedure, progress: ProgressCallback) -> OpenCase:
    builder = ResultBuilder(entry.case, procedure, entry.case_dir, entry.known)
    return OpenCase(entry, procedure, progress, builder)


def _open_all(cases: Sequence[OpenCase], room: Callable[[], int]) -> dict[str, str]:
    """Open all cases; those that cannot be interleaved, and why.

    With enough memory all load and compile at the same time, so those times are not comparable
    with a solo run. Otherwise the first opens alone, which shows how much memory a case needs, then
    the others, together if they fit. Cases always warm up one by one.
    """
    first, *others = cases
    before = room()
    if before >= sum(MEMORY_MARGIN * case.memory or AMPLE_MEMORY for case in cases):
        _open(cases)
        return _not_interleaved(cases)
    _open([first])
    left = room()
    largest = before - left
    if left >= MEMORY_MARGIN * largest * len(others):
        _open(others)
        return _not_interleaved(cases, first)
    for case in others:
        if (before := room()) < MEMORY_MARGIN * largest:
            case.end("skipped", OUT_OF_MEMORY_REASON)
            continue
        _open([case])
        largest = max(largest, before - room())
    return _not_interleaved(cases, first)


def _open(cases: Sequence[OpenCase]) -> None:
    for case in cases:
        case.end_if_late()
        case.resume()
        case.check_support()
        case.start()
    for case in cases:
        _drop_late(cases)
        case.open()
        case.get_outputs()
        case.start_first_step()
    for case in cases:
        _drop_late(cases)
        case.first_step()
        case.pause()
    for case in cases:
        _drop_late(cases)
        case.resume(renew_timeout=True)
        case.warm_up()
        case.warm_up_tokens()
        case.pause()


def _drop_late(cases: Sequence[OpenCase]) -> None:
    """Late cases would slow down the next one."""
    for case in cases:
        case.end_if_late()


def _not_interleaved(cases: Sequence[OpenCase], alone: OpenCase | None = None) -> dict[str, str]:
    """A case that was opened alone ran out of memory by itself."""
    return {case.name: why for case in cases if (why := _separation_reason(case, alone))}


def _separation_reason(case: OpenCase, alone: OpenCase | None) -> str:
    if case.status == "ok" and not case.steps:
        case.end("skipped", SELF_TIMED_REASON)
        return SELF_TIMED_REASON
    crowded = case.status == "out-of-memory" or case.reason == OUT_OF_MEMORY_REASON
    return OUT_OF_MEMORY_REASON if crowded and case is not alone else ""


def _take_turns(
    cases: Sequence[OpenCase], keep_going: KeepGoing, order: random.Random, opening: float
) -> None:
    while True:
        left = [case for case in cases if case.status == "ok"]
        turns = {case.name: case.turns for case in left}
        spent = sum(case.spent for case in left)
        if len(left) < 2 or not keep_going(Heat(opening=opening, turns=turns, spent=spent)):
            return
        for case in order.sample(left, len(left)):
            case.take_turn()


def _check(cases: Sequence[OpenCase]) -> None:
    for case in cases:
        if case.turns and case.first:
            case.resume()
            case.check()


def _end_without_turns(cases: Sequence[OpenCase]) -> None:
    """A case that was warm in time but had no other to take turns with has no samples."""
    if any(case.reason == OUT_OF_TIME for case in cases):
        for case in cases:
            if case.status == "ok" and not case.turns:
                case.end("skipped", OUT_OF_TIME)

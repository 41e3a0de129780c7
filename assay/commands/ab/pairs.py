"""One fresh pair of processes → two results: warm together where that is possible, else apart."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from assay.core.executor import CasePlace, Unit
from assay.core.messages import OutputValues
from assay.core.progress import ProgressCallback
from assay.core.records import Plan, Procedure, Result
from assay.measure import task
from assay.measure.case import HeatEntry, measure_case
from assay.measure.contenders import Contender, Pair
from assay.measure.heat import Turns, run_heat
from assay.measure.recorder import Run
from assay.measure.remote import run_one, with_peaks
from assay.measure.shared_cache import beside_cases
from assay.stats import paired_ratio
from assay.stats.intervals import quantile, student
from assay.stats.paired_ratio import PairRatio
from assay.stats.pooling import joined_peaks
from assay.stores.runs import tagged_number

SIDES = ("baseline", "candidate")
NONE_BEFORE: Mapping[str, Result] = {}
CLOSE = 4  # a pair whose error is the minimum over this needs no more turns
FASTEST_TURNS = 40  # at most, to find the fastest step of each; 7 to 20 are usual
COMMAND_TURNS = 5  # of a command in one pair, if they are
SHORT = 3.0  # seconds; longer commands have one turn a pair

APART = "one after the other"  # the tag `order` of results that were not taken in turns
COMMANDS = "commands cannot be stepped"
NOT_RUN = "not run, because the other did not end well"


class PairResults(NamedTuple):
    """What one pair gave."""

    results: tuple[Result, Result]
    outputs: dict[str, OutputValues]
    apart: str  # why they were not warm together; "": they were


class HasPlaces(Protocol):
    """A run, or what stands for it on another machine."""

    def new_case(self) -> CasePlace: ...


class PairSetting(NamedTuple):
    """What every pair of a comparison shares."""

    run: HasPlaces
    procedure: Procedure
    minimum: float
    deadline: float
    progress: ProgressCallback


class NextPair(NamedTuple):
    """The pair of this number; `known` are those before it, which say how long it should take."""

    pair: Pair
    number: int
    known: Sequence[PairRatio] = ()
    apart: str = ""  # why none of them are warm together, where that is known
    earlier: Mapping[str, Result] = (
        NONE_BEFORE  # of the sides: what it showed is not found out again
    )


def take_pair(wanted: NextPair, setting: PairSetting) -> PairResults:
    pair, number, earlier = wanted.pair, wanted.number, wanted.earlier
    why = wanted.apart or (COMMANDS if pair[0].task else "")
    if not why:
        heat = run_heat(
            [
                _known(_entry(side, one, setting.run), earlier.get(side))
                for side, one in zip(SIDES, pair, strict=True)
            ],
            setting.procedure,
            setting.progress,
            PairKeepGoing(setting, wanted.known),
            seed=number,
        )
        why = next(iter(heat.apart.values()), "")
        if not why:
            return PairResults(_both(heat.results, number, paired_ratio.IN_TURNS), heat.outputs, "")
    return PairResults(_apart(pair, setting, number), {}, why)


def pairs_of(results: Sequence[Result]) -> list[tuple[Result, Result]]:
    """Whole pairs among kept results, in their order; both of a pair ended well."""
    found: dict[int, dict[str, Result]] = {}
    for result in results:
        if result.status == "ok":
            side = result.tags.get("contender", "")
            found.setdefault(tagged_number(result, "pair"), {})[side] = result
    return [
        (pair[SIDES[0]], pair[SIDES[1]])
        for _, pair in sorted(found.items())
        if {*SIDES} <= pair.keys()
    ]


class PairKeepGoing:
    """Whether a pair needs more turns: until as many as pay off, or until its ratio is known."""

    def __init__(self, setting: PairSetting, known: Sequence[PairRatio]) -> None:
        self._setting, self._known = setting, known

    def __call__(self, turns: Turns) -> bool:
        baseline, candidate = (turns.taken[side] for side in SIDES)
        count = len(baseline)
        if count < paired_ratio.FEWEST_TURNS:
            return True
        if time.monotonic() > self._setting.deadline:
            return False
        metric, minimum = self._setting.procedure.metric, self._setting.minimum
        sides = [
            [paired_ratio.of_turn(part.values, metric) for part in side]
            for side in (baseline, candidate)
        ]
        if metric == paired_ratio.FASTEST:
            found = all(paired_ratio.fastest_found(side, minimum) for side in sides)
            return not found and count < FASTEST_TURNS
        if _close(sides, minimum):
            return False
        return count < paired_ratio.turns_wanted(self._known, turns.opening, turns.spent / count)


def _close(sides: Sequence[Sequence[float]], minimum: float) -> bool:
    baseline, candidate = np.log(sides)
    error = quantile(candidate - baseline).half_width / student(np.inf)
    return error < minimum / CLOSE


def _apart(pair: Pair, setting: PairSetting, number: int) -> tuple[Result, Result]:
    """Each in processes of its own; who is first is drawn."""
    order = random.Random(number)
    sides = dict(zip(SIDES, pair, strict=True))
    entries = {side: _entry(side, one, setting.run) for side, one in sides.items()}
    found: dict[str, Result] = {}
    begun = time.monotonic()
    for turn in range(COMMAND_TURNS):
        for side in order.sample(SIDES, 2):
            result = _alone(sides[side], entries[side], setting)
            found[side] = _joined(found[side], result) if turn else result
            if result.status != "ok":
                found = {s: found.get(s) or _not_run(entries[s], result) for s in SIDES}
                return _both(found, number, APART)
        if not pair[0].task or time.monotonic() - begun > SHORT:
            break
    return _both(found, number, paired_ratio.IN_TURNS if turn else APART)


def _alone(one: Contender, entry: HeatEntry, setting: PairSetting) -> Result:
    if one.task:
        return task.run_task(one.task, entry.place, suggest=False)
    return measure_case(one.case, setting.procedure, entry.place, setting.progress)


def _not_run(entry: HeatEntry, failed: Result) -> Result:
    return Result(
        id=entry.place.id,
        case=entry.case,
        procedure=failed.procedure,
        status="skipped",
        reason=NOT_RUN,
        started=failed.started,
        environment=failed.environment,
    )


def _joined(before: Result, after: Result) -> Result:
    """Two turns of one command."""
    return msgspec.structs.replace(
        after,
        samples=before.samples + after.samples,
        seconds=before.seconds + after.seconds,
        peaks=joined_peaks([before.peaks, after.peaks]),
        started=before.started,
    )


def _both(found: Mapping[str, Result], number: int, order: str) -> tuple[Result, Result]:
    first, second = (
        msgspec.structs.replace(
            found[side],
            tags={**found[side].tags, "pair": str(number), "contender": side, "order": order},
        )
        for side in SIDES
    )
    return first, second


def _entry(side: str, one: Contender, run: HasPlaces) -> HeatEntry:
    return HeatEntry(side, one.case, run.new_case())


def _known(entry: HeatEntry, earlier: Result | None) -> HeatEntry:
    if earlier is None:
        return entry
    stepped = [part for part in earlier.samples if part.metric == "step_time"]
    steady = [part.steps for part in stepped if part.phase == "steady"]
    return entry._replace(
        known=earlier.facts,
        steps=steady[0] if steady else 0,
        memory=earlier.peaks.get("max_rss", 0.0),
    )


class PairRequest(NamedTuple):
    """A pair as it is sent: its deadline is in seconds from now, for clocks differ."""

    wanted: NextPair
    plan: Plan
    procedure: Procedure
    minimum: float
    left: float


def take_remote_pair(run: Run, wanted: NextPair, setting: PairSetting) -> PairResults:
    """As `take_pair`, on a node of a cluster."""
    left = setting.deadline - time.monotonic()
    request = PairRequest(wanted, run.plan, setting.procedure, setting.minimum, left)
    places = (run.new_case(), run.new_case())
    unit = Unit(take_pair_there, (request,), wanted.pair[0].case, places, setting.progress)
    found: PairResults = run_one(run.elsewhere, unit)
    return found


class _Places:
    """In place of a run, on a node; who has another try has the same place again."""

    def __init__(self, places: Sequence[CasePlace]) -> None:
        self._left = itertools.cycle(places)

    def new_case(self) -> CasePlace:
        return next(self._left)


def take_pair_there(
    places: Sequence[CasePlace], progress: ProgressCallback, request: PairRequest
) -> PairResults:
    """On the node."""
    deadline = time.monotonic() + request.left
    setting = PairSetting(_Places(places), request.procedure, request.minimum, deadline, progress)
    with beside_cases(places[0].folder.parent, request.plan):
        found = take_pair(request.wanted, setting)
    first, second = (with_peaks(result) for result in found.results)
    return found._replace(results=(first, second))

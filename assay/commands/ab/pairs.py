"""Measure one fresh pair of processes: interleaved if both can be stepped, else one by one."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from assay.core.executor import CaseDir, RemoteTask
from assay.core.messages import OutputValues
from assay.core.progress import ProgressCallback
from assay.core.records import Plan, Procedure, Result
from assay.measure import task
from assay.measure.case import OUT_OF_TIME, HeatEntry, measure_case
from assay.measure.contenders import Contender, Pair
from assay.measure.heat import Heat, run_heat
from assay.measure.recorder import Recorder
from assay.measure.remote import add_peaks, run_single
from assay.measure.shared_cache import shared_cache_dir
from assay.stats import paired_ratio
from assay.stats.intervals import quantile, student
from assay.stats.paired_ratio import PairRatio
from assay.stats.pooling import pool_peaks
from assay.stores.runs import tag_number

SIDES = ("baseline", "candidate")
NO_RESULTS: Mapping[str, Result] = {}
CLOSE_FACTOR = 4  # a pair whose error is the minimum over this needs no more turns
FASTEST_TURNS = 40  # at most, to find the fastest step of each; 7 to 20 are usual
COMMAND_TURNS = 5  # of a command in one pair, if they are
MIN_LEFT = 0.1  # seconds of a timeout, at least
SHORT_SECONDS = 3.0  # seconds; longer commands have one turn a pair

NOT_INTERLEAVED = "one after the other"  # the tag `order` of results that were not taken in turns
COMMANDS = "commands cannot be stepped"
NOT_RUN_REASON = "not run, because the other did not end well"


class PairResults(NamedTuple):
    """Results of one pair."""

    results: tuple[Result, Result]
    outputs: Mapping[str, OutputValues]
    not_interleaved: str  # why they were not interleaved; "": they were


class PairContext(NamedTuple):
    """What every pair of a comparison shares."""

    plan: Plan
    procedure: Procedure
    min_effect: float
    deadline: float  # by the clock of this machine; in seconds from now, where it is sent
    limit: float = math.inf  # likewise; what still runs then is ended


class PairSpec(NamedTuple):
    """One pair to measure; `known` are earlier pairs, from which the number of turns follows."""

    pair: Pair
    number: int
    earlier_pairs: Sequence[PairRatio] = ()
    not_interleaved: str = ""  # why pairs cannot be interleaved, if known
    earlier: Mapping[str, Result] = NO_RESULTS  # of each side: its facts are reused


NewCase = Callable[[], CaseDir]


def take_pair(
    spec: PairSpec, context: PairContext, new_case: NewCase, progress: ProgressCallback
) -> PairResults:
    why = spec.not_interleaved or (COMMANDS if spec.pair[0].task else "")
    if not why:
        entries = [
            _add_known_facts(
                HeatEntry(side, contender.case, new_case(), deadline=context.limit),
                spec.earlier.get(side),
            )
            for side, contender in zip(SIDES, spec.pair, strict=True)
        ]
        keep_going = partial(needs_turns, context=context, known=spec.earlier_pairs)
        heat = run_heat(entries, context.procedure, progress, keep_going, seed=spec.number)
        why = next(iter(heat.excluded.values()), "")
        if not why:
            tagged = _tag_results(heat.results, spec.number, paired_ratio.INTERLEAVED)
            return PairResults(tagged, heat.outputs, "")
    return PairResults(_take_separately(spec, context, new_case, progress), {}, why)


def pairs_from_results(results: Sequence[Result]) -> list[tuple[Result, Result]]:
    """Complete pairs among stored results, in order; both sides have status ok."""
    pairs: dict[int, dict[str, Result]] = {}
    for result in results:
        if result.status == "ok":
            side = result.tags.get("contender", "")
            pairs.setdefault(tag_number(result, "pair"), {})[side] = result
    return [
        (pair[SIDES[0]], pair[SIDES[1]])
        for _, pair in sorted(pairs.items())
        if {*SIDES} <= pair.keys()
    ]


def needs_turns(heat: Heat, context: PairContext, known: Sequence[PairRatio]) -> bool:
    """Whether a pair needs more turns: fewer than pay off, and its ratio is still uncertain."""
    baseline, candidate = (heat.turns[side] for side in SIDES)
    count = len(baseline)
    if count and time.monotonic() + heat.round_seconds > context.limit:
        return False
    if count < paired_ratio.MIN_TURNS:
        return True
    if time.monotonic() > context.deadline:
        return False
    metric, minimum = context.procedure.metric, context.min_effect
    sides = [
        [paired_ratio.turn_value(part.values, metric) for part in side]
        for side in (baseline, candidate)
    ]
    if metric == paired_ratio.FASTEST:
        both = all(paired_ratio.has_fastest(side, minimum) for side in sides)
        return not both and count < FASTEST_TURNS
    if _is_close(sides, minimum):
        return False
    return count < paired_ratio.recommended_turns(known, heat.opening, heat.spent / count)


def _is_close(sides: Sequence[Sequence[float]], minimum: float) -> bool:
    baseline, candidate = np.log(sides)
    error = quantile(candidate - baseline).half_width / student(np.inf)
    return error < minimum / CLOSE_FACTOR


def _take_separately(
    spec: PairSpec, context: PairContext, new_case: NewCase, progress: ProgressCallback
) -> tuple[Result, Result]:
    """Measure each side in its own processes, in random order."""
    order = random.Random(spec.number)
    contenders = dict(zip(SIDES, spec.pair, strict=True))
    case_dirs = {side: new_case() for side in SIDES}
    results: dict[str, Result] = {}
    start = time.monotonic()
    for turn in range(COMMAND_TURNS):
        for side in order.sample(SIDES, 2):
            result = _measure(contenders[side], case_dirs[side], context, progress)
            results[side] = _join_turns(results[side], result) if turn else result
            if result.status != "ok":
                for other in SIDES:
                    if other not in results:
                        results[other] = _not_run_results(
                            contenders[other], case_dirs[other], result
                        )
                return _tag_results(results, spec.number, NOT_INTERLEAVED)
        if not spec.pair[0].task or time.monotonic() - start > SHORT_SECONDS:
            break
    return _tag_results(results, spec.number, paired_ratio.INTERLEAVED if turn else NOT_INTERLEAVED)


def _measure(
    contender: Contender, case_dir: CaseDir, context: PairContext, progress: ProgressCallback
) -> Result:
    """Ended at the limit of the comparison, if that comes before its own timeout."""
    left = max(context.limit - time.monotonic(), MIN_LEFT)
    own = (contender.task.timeout or task.TIMEOUT) if contender.task else context.procedure.timeout
    if contender.task:
        limited = msgspec.structs.replace(contender.task, timeout=min(own, left))
        result = task.run_task(limited, case_dir, suggest=False)
    else:
        procedure = msgspec.structs.replace(context.procedure, timeout=min(own, left))
        result = measure_case(contender.case, procedure, case_dir, progress)
    if result.status == "timeout" and left < own:
        return msgspec.structs.replace(result, status="skipped", reason=OUT_OF_TIME)
    return result


def _not_run_results(contender: Contender, case_dir: CaseDir, failed: Result) -> Result:
    return Result(
        id=case_dir.id,
        case=contender.case,
        procedure=failed.procedure,
        status="skipped",
        reason=NOT_RUN_REASON,
        started=failed.started,
        environment=failed.environment,
    )


def _join_turns(before: Result, after: Result) -> Result:
    """Two turns of one command."""
    return msgspec.structs.replace(
        after,
        samples=before.samples + after.samples,
        seconds=before.seconds + after.seconds,
        peaks=pool_peaks([before.peaks, after.peaks]),
        started=before.started,
    )


def _tag_results(results: Mapping[str, Result], number: int, order: str) -> tuple[Result, Result]:
    first, second = (
        msgspec.structs.replace(
            results[side],
            tags={**results[side].tags, "pair": str(number), "contender": side, "order": order},
        )
        for side in SIDES
    )
    return first, second


def _add_known_facts(entry: HeatEntry, earlier: Result | None) -> HeatEntry:
    if earlier is None:
        return entry
    stepped = [part for part in earlier.samples if part.metric == "step_time"]
    steady = [part.steps for part in stepped if part.phase == "steady"]
    return entry._replace(
        known=earlier.facts,
        steps=steady[0] if steady else 0,
        memory=earlier.peaks.get("max_rss", 0.0),
    )


def take_remote_pair(
    spec: PairSpec, context: PairContext, run: Recorder, progress: ProgressCallback
) -> PairResults:
    """As `take_pair`, on a node of a cluster, whose clock differs."""
    now = time.monotonic()
    sent = context._replace(deadline=context.deadline - now, limit=context.limit - now)
    case_dirs = (run.new_case(), run.new_case())
    unit = RemoteTask(take_pair_on_node, (spec, sent), spec.pair[0].case, case_dirs, progress)
    pair: PairResults = run_single(run.elsewhere, unit)
    return pair


def take_pair_on_node(
    case_dirs: Sequence[CaseDir], progress: ProgressCallback, spec: PairSpec, sent: PairContext
) -> PairResults:
    """Runs on the node; a retry gets the same folders."""
    now = time.monotonic()
    context = sent._replace(deadline=sent.deadline + now, limit=sent.limit + now)
    new_case = itertools.cycle(case_dirs).__next__
    with shared_cache_dir(case_dirs[0].folder.parent, context.plan):
        pair = take_pair(spec, context, new_case, progress)
    first, second = (add_peaks(result) for result in pair.results)
    return pair._replace(results=(first, second))

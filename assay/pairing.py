"""One fresh pair of processes → two results: warm together where that is possible, else apart."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from assay import taskrun
from assay.analysis import compare
from assay.analysis.intervals import quantile, student
from assay.contenders import Contender, Pair
from assay.findings import PairRatio
from assay.heat import Entry, run_heat, sampled
from assay.launch import measure_case
from assay.protocol import Given
from assay.records import Procedure, Result, Samples
from assay.schedule import Watch
from assay.stores import folders

SIDES = ("baseline", "candidate")
CLOSE = 4  # a pair whose error is the minimum over this needs no more turns
COMMAND_TURNS = 5  # of a command in one pair, if they are
SHORT = 3.0  # seconds; longer commands have one turn a pair

APART = "one after the other"  # the tag `order` of results that were not taken in turns
COMMANDS = "commands cannot be stepped"
NOT_RUN = "not run, because the other did not end well"


class Taken(NamedTuple):
    """What one pair gave."""

    results: tuple[Result, Result]
    outputs: dict[str, Given]
    apart: str  # why they were not warm together; "": they were


class Setting(NamedTuple):
    """What every pair of a comparison shares."""

    run: Path
    procedure: Procedure
    minimum: float
    deadline: float
    watch: Watch


def take_pair(
    pair: Pair, setting: Setting, number: int, known: Sequence[PairRatio], apart: str = ""
) -> Taken:
    """The pair of this number; `known` are those before it, which say how long it should take."""
    why = apart or (COMMANDS if pair[0].task else "")
    if not why:
        heat = run_heat(
            [_entry(side, one, setting.run) for side, one in zip(SIDES, pair, strict=True)],
            setting.procedure,
            setting.watch,
            Enough(setting, known),
            seed=number,
        )
        why = next(iter(heat.apart.values()), "")
        if not why:
            return Taken(_both(heat.results, number, compare.IN_TURNS), heat.outputs, "")
    return Taken(_apart(pair, setting, number), {}, why)


class Enough:
    """Whether a pair has had its turns: as many as pay off, or until its ratio is known."""

    def __init__(self, setting: Setting, known: Sequence[PairRatio]) -> None:
        self._setting, self._known = setting, known

    def __call__(self, turns: Mapping[str, Sequence[Samples]], opening: float) -> bool:
        """True while more turns are wanted."""
        baseline, candidate = (turns[side] for side in SIDES)
        count = len(baseline)
        if count < compare.FEWEST_TURNS:
            return True
        if time.monotonic() > self._setting.deadline:
            return False
        if self._close(baseline, candidate):
            return False
        return count < compare.turns_wanted(self._known, opening, sampled(turns) / count)

    def _close(self, baseline: Sequence[Samples], candidate: Sequence[Samples]) -> bool:
        logs = [np.log([np.median(part.values) for part in side]) for side in (baseline, candidate)]
        error = quantile(logs[1] - logs[0]).half_width / student(np.inf)
        return error < self._setting.minimum / CLOSE


def _apart(pair: Pair, setting: Setting, number: int) -> tuple[Result, Result]:
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
    return _both(found, number, compare.IN_TURNS if turn else APART)


def _alone(one: Contender, entry: Entry, setting: Setting) -> Result:
    if one.task:
        return taskrun.run_task(one.task, entry.result_id, entry.folder)
    procedure = setting.procedure
    return measure_case(one.case, procedure, entry.result_id, entry.folder, setting.watch)


def _not_run(entry: Entry, failed: Result) -> Result:
    return Result(
        id=entry.result_id,
        case=entry.case,
        procedure=failed.procedure,
        status="skipped",
        reason=NOT_RUN,
        started=failed.started,
        environment=failed.environment,
    )


def _joined(before: Result, after: Result) -> Result:
    """Two turns of one command."""
    samples, seconds = before.samples + after.samples, before.seconds + after.seconds
    return msgspec.structs.replace(after, samples=samples, seconds=seconds, started=before.started)


def _both(found: Mapping[str, Result], number: int, order: str) -> tuple[Result, Result]:
    first, second = (
        msgspec.structs.replace(
            found[side],
            tags={**found[side].tags, "pair": str(number), "contender": side, "order": order},
        )
        for side in SIDES
    )
    return first, second


def _entry(side: str, one: Contender, run: Path) -> Entry:
    place = folders.new_case(run)
    return Entry(side, one.case, f"{run.name}/{place.name}", place)

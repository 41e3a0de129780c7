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
from assay.heat import Entry, run_heat
from assay.launch import measure_case
from assay.protocol import Given
from assay.records import Procedure, Result, Samples
from assay.schedule import Watch
from assay.stores import folders
from assay.together import TURN

SIDES = ("baseline", "candidate")
CLOSE = 4  # a pair whose error is the minimum over this needs no more turns

COMMANDS = "commands cannot be stepped in turns"


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
            found = [_tagged(heat.results[side], side, number, compare.TOGETHER) for side in SIDES]
            return Taken((found[0], found[1]), heat.outputs, "")
    return Taken(_one_after_the_other(pair, setting, number), {}, why)


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
        return count < compare.turns_wanted(self._known, opening, 2 * TURN)

    def _close(self, baseline: Sequence[Samples], candidate: Sequence[Samples]) -> bool:
        logs = [np.log([np.median(part.values) for part in side]) for side in (baseline, candidate)]
        error = quantile(logs[1] - logs[0]).half_width / student(np.inf)
        return error < self._setting.minimum / CLOSE


def _one_after_the_other(pair: Pair, setting: Setting, number: int) -> tuple[Result, Result]:
    """Each in a process of its own; who is first is drawn."""
    found: dict[str, Result] = {}
    sides = list(zip(SIDES, pair, strict=True))
    random.Random(number).shuffle(sides)
    for side, one in sides:
        entry = _entry(side, one, setting.run)
        if one.task:
            result = taskrun.run_task(one.task, entry.result_id, entry.folder)
        else:
            result = measure_case(
                one.case, setting.procedure, entry.result_id, entry.folder, setting.watch
            )
        found[side] = _tagged(result, side, number, "one after the other")
        if result.status == "interrupted":
            found = dict.fromkeys(SIDES, found[side])
            break
    return found[SIDES[0]], found[SIDES[1]]


def _entry(side: str, one: Contender, run: Path) -> Entry:
    place = folders.new_case(run)
    return Entry(side, one.case, f"{run.name}/{place.name}", place)


def _tagged(result: Result, side: str, number: int, order: str) -> Result:
    tags = {"pair": str(number), "contender": side, "order": order}
    return msgspec.structs.replace(result, tags={**result.tags, **tags})

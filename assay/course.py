"""A race as it goes on: who has run, who leads, who runs next, and whether it is decided."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from assay.analysis import agreement, compare, fairness, racing
from assay.analysis.intervals import quantile, student
from assay.findings import PairRatio, Place, Race
from assay.heat import TOGETHER, Heat, sampled
from assay.protocol import Given
from assay.records import Plan, Result, Samples

FEWEST_TURNS, MOST_TURNS = 5, 30


class Course:
    """A race as it goes on: its heats, and who gave wrong outputs."""

    def __init__(
        self, asked: Plan, run: str, heats: Sequence[Mapping[str, Result]], wrong: dict[str, str]
    ) -> None:
        self.cases = {case.key: case for case in asked.cases}
        self.rules = racing.terms(len(self.cases), asked.procedure.target)
        self.heats = [racing.meeting(heat) for heat in heats]
        self.warm = TOGETHER
        self._asked, self._run = asked, run
        self._earlier, self._begun = len(heats), time.monotonic()
        self.deadline = self._begun + asked.procedure.budget
        self._last = {name: result for heat in heats for name, result in heat.items()}
        self._outputs: dict[str, Given] = {}
        self._known_wrong = self._wrong = wrong  # of heats before an interrupt

    def add(self, heat: Heat) -> dict[str, Result]:
        """The results that count: who found no room beside several others has another try."""
        here = {name: one for name, one in heat.results.items() if name not in heat.apart}
        if heat.apart and len(heat.results) == 2:  # not even beside the leader alone
            here |= {name: heat.results[name] for name in heat.apart}
        elif heat.apart:
            self.warm = max(2, len(here))
        ended = {name: one for name, one in here.items() if one.status != "interrupted"}
        self.heats.append(racing.meeting(ended))
        self._last |= ended
        self._outputs.update({name: heat.outputs[name] for name in heat.outputs if name in here})
        self._wrong = self._known_wrong | agreement.odd_ones_out(self._outputs, self.cases)
        return here

    def next_heat(self) -> list[str]:
        return racing.next_heat(self._places(), self.heats, self.rules, self.warm)

    def standing(self) -> Race:
        places = self._places()
        return Race(
            places=tuple(places),
            metric=racing.METRIC,
            minimum=self.rules.minimum,
            heats=len(self.heats),
            ended=self._ended(places),
            command=f"assay run '{places[0].key}'" if places[0].state == "in" else "",
            notes=tuple(fairness.sentences(self._last.values())),
            run=self._run,
        )

    def _places(self) -> list[Place]:
        return racing.standing(list(self.cases), self.heats, self._wrong, self.rules)

    def _ended(self, places: Sequence[Place]) -> str:
        left = sum(place.state == "in" for place in places)
        if not racing.next_heat(places, self.heats, self.rules, self.warm):
            alike = f"{left} are as good as each other" if left > 1 else "one is left"
            return f"decided: {alike}" if left else "stopped: none of them ran well"
        if not self._over():
            return ""
        untried = sum(place.state == "untried" for place in places)
        doubt = f"{left} are in" + (f" and {untried} were not tried" if untried else "")
        return f"the budget of {self._asked.procedure.budget:g} s ended while {doubt}"

    def _over(self) -> bool:
        """Whether another heat like those of this session would outlast the budget."""
        now, run = time.monotonic(), len(self.heats) - self._earlier
        return run > 0 and now + (now - self._begun) / run > self.deadline


class Enough:
    """Whether a heat has had its turns: nobody in it is in doubt, or opening cost as much."""

    def __init__(self, rules: compare.Terms, deadline: float) -> None:
        self._rules, self._deadline = rules, deadline

    def __call__(self, turns: Mapping[str, Sequence[Samples]], opening: float) -> bool:
        """True while more turns are wanted."""
        count = min(len(taken) for taken in turns.values())
        if count < FEWEST_TURNS:
            return True
        if count >= MOST_TURNS or sampled(turns) > opening or time.monotonic() > self._deadline:
            return False
        return not racing.settled(self._to_the_best(turns), self._rules)

    def _to_the_best(self, turns: Mapping[str, Sequence[Samples]]) -> list[PairRatio]:
        """Steps, not items, are what is steady or not; the batch is the same in every turn."""
        logs = [np.log([np.median(part.values) for part in taken]) for taken in turns.values()]
        best = min(logs, key=lambda found: float(np.median(found)))
        found = [quantile(one - best) for one in logs if one is not best]
        return [
            PairRatio(
                ratio=float(np.exp(one.value)),
                error=one.half_width / student(np.inf),
                turns=len(best),
                baseline="",
                candidate="",
            )
            for one in found
        ]

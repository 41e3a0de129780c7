"""State of a race: heats so far, the ranking, who runs next, and whether it is decided."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.commands.race import ranking
from assay.commands.race.ranking import Place, Race
from assay.core.budget import hard_limit
from assay.core.executor import CaseDir, RemoteTask
from assay.core.messages import OutputValues
from assay.core.progress import ProgressCallback
from assay.core.records import Plan, Procedure, Result, Samples, Value
from assay.measure import shared_cache
from assay.measure.case import OUT_OF_TIME, HeatEntry
from assay.measure.heat import MAX_OPEN_CASES, Heat, run_heat
from assay.measure.recorder import Recorder
from assay.measure.remote import add_peaks, run_single
from assay.measure.sampling import TURN
from assay.measure.shared_cache import shared_cache_dir
from assay.stats import paired_ratio
from assay.stats.fairness import checks, outputs
from assay.stats.intervals import quantile, student
from assay.stats.paired_ratio import PairRatio

MIN_TURNS, MAX_TURNS = 5, 30
MIN_CONTENDERS = 2  # contenders that may be late, so that a session has a result


class RaceState:
    """The heats so far, and contenders with wrong outputs."""

    def __init__(
        self, plan: Plan, run: str, heats: Sequence[Mapping[str, Result]], wrong: dict[str, str]
    ) -> None:
        self.cases = {case.key: case for case in plan.cases}
        metric = plan.procedure.metric or ranking.METRIC
        self.rules = ranking.decision_rule(len(self.cases), plan.procedure.target, metric)
        self.heats = [ranking.summarize_heat(heat, metric) for heat in heats]
        self.warm = MAX_OPEN_CASES
        self._plan, self._run = plan, run
        self._begun = self._last_end = time.monotonic()
        self._lengths: list[float] = []  # seconds of the heats of this session
        self.deadline = self._begun + plan.procedure.budget
        self.limit = self._begun + hard_limit(plan.procedure.budget)
        self._last = {name: result for heat in heats for name, result in heat.items()}
        self._outputs: dict[str, OutputValues] = {}
        self._known_wrong = self._wrong = wrong  # of heats before an interrupt

    def add(self, heat: Heat) -> dict[str, Result]:
        """Add a heat and return the results that count; who did not fit in memory is retried."""
        now = time.monotonic()
        self._lengths.append(now - self._last_end)
        self._last_end = now
        valid = {
            name: result
            for name, result in heat.results.items()
            if name not in heat.excluded and result.reason != OUT_OF_TIME
        }
        if heat.excluded and len(heat.results) == 2:  # not even beside the leader alone
            valid |= {name: heat.results[name] for name in heat.excluded}
        elif heat.excluded:
            self.warm = max(2, len(valid))
        ended = {name: result for name, result in valid.items() if result.status != "interrupted"}
        self.heats.append(ranking.summarize_heat(ended, self.rules.metric))
        self._last |= ended
        self._outputs.update({name: heat.outputs[name] for name in heat.outputs if name in valid})
        self._wrong = self._known_wrong | outputs.wrong_outputs(self._outputs, self.cases)
        return valid

    def facts(self, name: str) -> dict[str, Value]:
        """Facts of a contender from its first heat."""
        return self._last[name].facts if name in self._outputs else {}

    def next_heat(self) -> list[str]:
        return ranking.next_heat(self._places(), self.heats, self.rules, self.warm)

    def deadlines(self, count: int) -> list[float]:
        """By when each of a heat has to be warm, so that its turns end with the budget."""
        sure = 0 if self._lengths else min(MIN_CONTENDERS, count)
        return [self.limit] * sure + [self.deadline - self._turn_seconds(count)] * (count - sure)

    def ranking(self) -> Race:
        places = self._places()
        return Race(
            places=tuple(places),
            metric=self.rules.metric,
            minimum=self.rules.minimum,
            heats=len(self.heats),
            ended=self._stop_reason(places),
            command=f"assay run '{places[0].key}'" if places[0].state == "in" else "",
            notes=(*self._notes(places), *checks.sentences(self._last.values())),
            run=self._run,
        )

    def _notes(self, places: Sequence[Place]) -> list[str]:
        return [*shared_cache.notes(self._plan), *self._output_notes(places)]

    def _output_notes(self, places: Sequence[Place]) -> list[str]:
        """A note if the outputs of the leader were not compared."""
        leader = places[0].key
        alike = [
            name
            for name in self._outputs
            if name != leader and self.cases[name].params == self.cases[leader].params
        ]
        if not self._outputs or places[0].state != "in" or (leader in self._outputs and alike):
            return []
        return [f"outputs of {leader} were not compared to those of another contender"]

    def _places(self) -> list[Place]:
        return ranking.rank(list(self.cases), self.heats, self._wrong, self.rules)

    def _stop_reason(self, places: Sequence[Place]) -> str:
        left = sum(place.state == "in" for place in places)
        if not ranking.next_heat(places, self.heats, self.rules, self.warm):
            alike = f"{left} are equally good" if left > 1 else "one is left"
            return f"decided: {alike}" if left else "stopped: none of them ran well"
        if not self._is_out_of_time():
            return ""
        untried = sum(place.state == "untried" for place in places)
        rest = f"{left} contender{'' if left == 1 else 's'} left"
        rest += f", {untried} not tried" if untried else ""
        if not self._last:
            took = max(self._plan.procedure.budget, sum(self._lengths))
            rest += f"; not even two were warm by then: try --budget {math.ceil(3 * took)}s"
        return f"budget of {self._plan.procedure.budget:g} s used up; {rest}"

    def _is_out_of_time(self) -> bool:
        """Whether another heat as long as the longest of this session would outlast the budget."""
        if not self._lengths:
            return False
        return time.monotonic() + max(*self._lengths, self._turn_seconds(self.warm)) > self.deadline

    def _turn_seconds(self, count: int) -> float:
        """Seconds that the fewest turns of so many take, each after a step that does not count."""
        return min(0.3 * self._plan.procedure.budget, MIN_TURNS * 2 * TURN * count)


class HeatContext(NamedTuple):
    """What every heat of a race shares."""

    plan: Plan
    procedure: Procedure
    rules: paired_ratio.DecisionRule
    deadline: float  # by the clock of this machine; in seconds from now, where it is sent
    limit: float  # likewise; no round begins that would end after it


def needs_turns(
    heat: Heat, rules: paired_ratio.DecisionRule, deadline: float, limit: float = math.inf
) -> bool:
    """Whether some ratio of a heat is uncertain, and turns cost less than opening."""
    count = min(len(samples) for samples in heat.turns.values())
    if count and time.monotonic() + heat.round_seconds > limit:
        return False
    if count < MIN_TURNS:
        return True
    late = time.monotonic() > deadline
    if count >= MAX_TURNS or heat.spent > heat.opening or late:
        return False
    return not ranking.is_settled(_ratios_to_best(heat.turns), rules)


def _ratios_to_best(turns: Mapping[str, Sequence[Samples]]) -> list[PairRatio]:
    """Ratios of step times; the batch is the same in every turn."""
    logs = [np.log([np.median(part.values) for part in samples]) for samples in turns.values()]
    best = min(logs, key=lambda log: float(np.median(log)))
    estimates = [quantile(log - best) for log in logs if log is not best]
    return [
        PairRatio(
            ratio=float(np.exp(estimate.value)),
            error=estimate.half_width / student(np.inf),
            turns=len(best),
            baseline="",
            candidate="",
        )
        for estimate in estimates
    ]


def take_heat(
    entries: Sequence[HeatEntry], context: HeatContext, progress: ProgressCallback, seed: int
) -> Heat:
    keep_going = partial(
        needs_turns, rules=context.rules, deadline=context.deadline, limit=context.limit
    )
    return run_heat(entries, context.procedure, progress, keep_going, seed)


def take_remote_heat(
    run: Recorder,
    entries: Sequence[HeatEntry],
    context: HeatContext,
    progress: ProgressCallback,
    seed: int,
) -> Heat:
    """As `take_heat`, on a node of a cluster, whose clock differs."""
    sent = _shift_deadlines(entries, context, -time.monotonic())
    case_dirs = tuple(entry.case_dir for entry in entries)
    unit = RemoteTask(take_heat_on_node, (*sent, seed), entries[0].case, case_dirs, progress)
    heat: Heat = run_single(run.elsewhere, unit)
    return heat


def take_heat_on_node(
    case_dirs: Sequence[CaseDir],
    progress: ProgressCallback,
    entries: Sequence[HeatEntry],
    context: HeatContext,
    seed: int,
) -> Heat:
    """On the node."""
    entries, context = _shift_deadlines(entries, context, time.monotonic())
    here = [
        entry._replace(case_dir=case_dir)
        for entry, case_dir in zip(entries, case_dirs, strict=True)
    ]
    with shared_cache_dir(case_dirs[0].folder.parent, context.plan):
        heat = take_heat(here, context, progress, seed)
    return heat._replace(results={name: add_peaks(result) for name, result in heat.results.items()})


def _shift_deadlines(
    entries: Sequence[HeatEntry], context: HeatContext, seconds: float
) -> tuple[list[HeatEntry], HeatContext]:
    shifted = [entry._replace(deadline=entry.deadline + seconds) for entry in entries]
    return shifted, context._replace(
        deadline=context.deadline + seconds, limit=context.limit + seconds
    )

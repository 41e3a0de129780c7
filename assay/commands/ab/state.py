"""State of a comparison: the request, the results so far, and whether it is decided."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from assay.commands.ab.pairs import NOT_RUN_REASON, SIDES, PairResults
from assay.core.budget import hard_limit
from assay.core.errors import UsageError
from assay.core.records import SCHEMA, Procedure, Result
from assay.core.units import as_seconds, as_share, human
from assay.measure import contenders
from assay.measure.case import OUT_OF_TIME
from assay.stats import generation, paired_ratio, sequential
from assay.stats.fairness import checks, outputs
from assay.stats.paired_ratio import Comparison

WARM_UP_SECONDS = 5.0  # seconds of warm-up, and of sampling where processes run one by one
SECONDS_FACTOR = 10  # of the time that was too short for one pair: for several
WARM_UP_SHARE = 6  # of the budget, at most, for one process where apart


class AbRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of a comparison."""

    pair: contenders.Pair
    terms: paired_ratio.DecisionRule
    budget: float = 300.0  # seconds, all in all
    pairs: int = sequential.MAX_PAIRS  # at most
    timeout: float = 600.0  # seconds, for one process
    outputs: bool = True  # whether they have to agree
    cold: bool = False  # no compilation cache is shared between processes
    build: str = ""  # the command that makes a checkout usable
    schema: int = SCHEMA
    kind: Literal["ab-request"] = "ab-request"

    def __post_init__(self) -> None:
        as_seconds(self.budget, "budget", "5m")
        as_seconds(self.timeout, "timeout", "10m")
        as_share(self.terms.minimum, "The smallest effect", "1%")
        if self.pairs < 1:
            raise UsageError(
                f"pairs is {self.pairs}, but has to be 1 or more.", hint="60 is the default."
            )

    @property
    def procedure(self) -> Procedure:
        cold = self.cold or self.terms.metric in paired_ratio.ONCE  # which a cache would change
        budget = min(WARM_UP_SECONDS, self.budget / WARM_UP_SHARE)
        is_timed = self.terms.metric in (*generation.TIMED, paired_ratio.FASTEST)
        metric = self.terms.metric if is_timed else ""
        return Procedure(budget=budget, timeout=self.timeout, cold=cold, metric=metric)


class AbState:
    """Results so far, with notes and failures."""

    def __init__(self, request: AbRequest, run: str) -> None:
        self._request, self._run = request, run
        self._begun = self._added = time.monotonic()
        self.last = 0.0  # seconds of the pair that was added last
        self.results: tuple[list[Result], list[Result]] = ([], [])
        self.notes: list[str] = []
        self.failures: list[str] = []
        self.not_interleaved = ""
        self.late = False  # the last pair was ended by the limit, and does not count
        self.terms = request.terms

    @property
    def pairs(self) -> int:
        return len(self.results[0])

    @property
    def spent(self) -> float:
        return time.monotonic() - self._begun

    @property
    def deadline(self) -> float:
        return self._begun + self._request.budget

    @property
    def limit(self) -> float:
        return self._begun + hard_limit(self._request.budget)

    def add(self, pair: PairResults) -> None:
        self.last, self._added = time.monotonic() - self._added, time.monotonic()
        self.late = any(result.reason == OUT_OF_TIME for result in pair.results)
        if self.late:
            return
        for side_results, result in zip(self.results, pair.results, strict=True):
            side_results.append(result)
        for side, result in zip(SIDES, pair.results, strict=True):
            if result.reason == NOT_RUN_REASON:
                self.notes += [f"the {side} was not run"] if self.pairs == 1 else []
            elif result.status not in {"ok", "interrupted"}:
                self.failures.append(f"the {side} ended as {result.status}: {result.reason}")
        ended_well = all(result.status == "ok" for result in pair.results)
        if pair.not_interleaved and not self.not_interleaved and ended_well:
            self.not_interleaved = pair.not_interleaved
            self.notes.append(f"they alternate by process, not by step: {pair.not_interleaved}")
        if self.pairs == 1:
            self._check_first_pair(pair)

    def comparison(self) -> Comparison:
        comparison = paired_ratio.compare(*self.results, self.terms)
        first, second = (contender.name for contender in self._request.pair)
        return msgspec.structs.replace(
            comparison,
            baseline=first,
            candidate=second,
            notes=tuple(self.notes),
            failures=tuple(self.failures),
            run=self._run,
        )

    def first_pair(self) -> dict[str, Result]:
        """The first pair, whose facts hold for later ones."""
        if not all(self.results):
            return {}
        return {side: results[0] for side, results in zip(SIDES, self.results, strict=True)}

    def _check_first_pair(self, pair: PairResults) -> None:
        """Checks that need one pair only: metric, outputs, fairness."""
        first, second = pair.results
        if not self.terms.metric:
            metric = "step_time" if first.items == second.items else "item_time"
            self.terms = self.terms._replace(metric=metric)
        self.notes += checks.sentences(_with_distinct_keys(pair.results))
        cases = [contender.case for contender in self._request.pair]
        if len(pair.outputs) < 2 or not self._request.outputs:
            return
        if (cases[0].workload, cases[0].params) != (cases[1].workload, cases[1].params):
            self.notes.append("outputs were not compared: the workloads differ")
            return
        mine, theirs = (pair.outputs[side] for side in SIDES)
        wrong = outputs.outputs_differ(mine, theirs, outputs.tolerance(*cases))
        if wrong:
            self.failures.append(f"WRONG OUTPUTS: they do not do the same work, for {wrong}")


def _with_distinct_keys(results: Sequence[Result]) -> Iterator[Result]:
    """Results with distinct keys: equal cases get their side as suffix."""
    same = len({result.case.key for result in results}) == 1
    for side, result in zip(SIDES, results, strict=True):
        key = f"{result.case.key} ({side})" if same else result.case.key
        yield msgspec.structs.replace(result, case=msgspec.structs.replace(result.case, key=key))


def stop_reason(request: AbRequest, comparison: Comparison, state: AbState) -> str:
    """Why there is no further pair; "" where there is one."""
    if state.late:
        return _ended_by_limit(request, comparison, state)
    endings = {results[-1].status for results in state.results}
    if "interrupted" in endings:
        return f"interrupted by the user after {_pairs(comparison.ratio.n)}"
    if endings != {"ok"}:
        return "stopped, because a contender failed"
    if not comparison.ratio.n:
        return f"stopped, because not both reported {state.terms.metric}"
    fewest = min(sequential.MIN_PAIRS, request.pairs)
    if comparison.verdict != "cannot-tell" and state.pairs >= fewest:
        return f"decided after {_pairs(state.pairs)}"
    if state.pairs >= request.pairs:
        return f"undecided after {_pairs(state.pairs)}, the maximum"
    each = _next_pair(request, state)
    if state.spent + each > request.budget:
        return _is_out_of_time(request, comparison, state.spent / state.pairs)
    return ""


def _ended_by_limit(request: AbRequest, comparison: Comparison, state: AbState) -> str:
    if state.pairs:
        return _is_out_of_time(request, comparison, state.spent / state.pairs)
    return (
        f"undecided: budget of {human(request.budget, 's')} used up before the first pair was "
        f"measured; try --budget {round(SECONDS_FACTOR * state.spent + 1)}s"
    )


def _next_pair(request: AbRequest, state: AbState) -> float:
    """Seconds it will take: as many as the last. The second finds what the first has compiled,
    captured and checked, and opens in half the time or less; its turns end with the budget."""
    shares = state.pairs == 1 and not state.not_interleaved and not request.procedure.cold
    return state.last / 2 if shares else state.last


def _is_out_of_time(request: AbRequest, comparison: Comparison, each: float) -> str:
    """What the budget was enough for, and what would be enough."""
    needed = paired_ratio.required_pairs(comparison)
    answer = f"budget of {human(request.budget, 's')} used up after {_pairs(comparison.ratio.n)}"
    if comparison.ratio.n < sequential.MIN_PAIRS:
        needed = sequential.MIN_PAIRS + 2
        answer += (
            f", too few to know the noise between processes ({sequential.MIN_PAIRS} are needed)"
        )
    if comparison.verdict != "cannot-tell":
        return f"{answer}; the change is large enough to decide anyway"
    answer = f"undecided: {answer}"
    if not needed:
        return f"{answer}; {sequential.MAX_PAIRS} pairs would probably not decide it"
    return f"{answer}; about {needed} would decide: --budget {round(1.2 * needed * each + 1)}s"


def _pairs(count: int) -> str:
    return f"{count} pair{'' if count == 1 else 's'}"

"""A comparison as it grows: what is asked, what is known, and whether it is decided."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from assay import contenders
from assay.analysis import agreement, compare, fairness, sequence
from assay.errors import UsageError
from assay.findings import Comparison
from assay.pairing import NOT_RUN, SIDES, Taken
from assay.records import Procedure, Result
from assay.units import human

WARM = 5.0  # seconds: what a warm-up is reckoned from, and the sampling of processes apart
SHARE = 6  # of the budget, at most, for one process where apart


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison to be made."""

    pair: contenders.Pair
    terms: compare.Terms
    budget: float = 300.0  # seconds, all in all
    pairs: int = sequence.MOST  # at most
    timeout: float = 600.0  # seconds, for one process
    outputs: bool = True  # whether they have to agree

    def __post_init__(self) -> None:
        for name, least in (("budget", 0), ("timeout", 0), ("pairs", 0)):
            if getattr(self, name) <= least:
                raise UsageError(
                    f"{name} is {getattr(self, name):g}, but has to be more than {least}.",
                    hint="--budget 5m --pairs 60 --timeout 10m are the defaults.",
                )
        if not 0 < self.terms.minimum < 1:
            raise UsageError(
                f"The smallest effect is {self.terms.minimum:g}, but has to be between 0 and 1.",
                hint="--min-effect 1% is the default.",
            )

    @property
    def procedure(self) -> Procedure:
        return Procedure(budget=min(WARM, self.budget / SHARE), timeout=self.timeout)


class Story:
    """A comparison as it grows: results so far, and what has to be said beside them."""

    def __init__(self, asked: Asked, run: Path) -> None:
        self._asked, self._run = asked, run
        self._begun = time.monotonic()
        self.results: tuple[list[Result], list[Result]] = ([], [])
        self.notes: list[str] = []
        self.failures: list[str] = []
        self.apart = ""
        self.terms = asked.terms

    @property
    def pairs(self) -> int:
        return len(self.results[0])

    @property
    def spent(self) -> float:
        return time.monotonic() - self._begun

    @property
    def deadline(self) -> float:
        return self._begun + self._asked.budget

    def add(self, taken: Taken) -> None:
        for kept, result in zip(self.results, taken.results, strict=True):
            kept.append(result)
        for side, result in zip(SIDES, taken.results, strict=True):
            if result.reason == NOT_RUN:
                self.notes += [f"the {side} was not run"] if self.pairs == 1 else []
            elif result.status not in {"ok", "interrupted"}:
                self.failures.append(f"the {side} ended as {result.status}: {result.reason}")
        ended_well = all(result.status == "ok" for result in taken.results)
        if taken.apart and not self.apart and ended_well:
            self.apart = taken.apart
            self.notes.append(f"they alternate by process, not by step: {taken.apart}")
        if self.pairs == 1:
            self._first(taken)

    def comparison(self) -> Comparison:
        found = compare.compare(*self.results, self.terms)
        first, second = (contender.name for contender in self._asked.pair)
        return msgspec.structs.replace(
            found,
            baseline=first,
            candidate=second,
            notes=tuple(self.notes),
            failures=tuple(self.failures),
            run=self._run.name,
        )

    def _first(self, taken: Taken) -> None:
        """What one pair is enough to know: the metric, the outputs, whether it is fair."""
        one, other = taken.results
        if not self.terms.metric:
            metric = "step_time" if one.items == other.items else "item_time"
            self.terms = self.terms._replace(metric=metric)
        self.notes += fairness.sentences(_told_apart(taken.results))
        cases = [contender.case for contender in self._asked.pair]
        if len(taken.outputs) < 2 or not self._asked.outputs:
            return
        if (cases[0].workload, cases[0].params) != (cases[1].workload, cases[1].params):
            self.notes.append("outputs were not compared: the workloads differ")
            return
        mine, theirs = (taken.outputs[side] for side in SIDES)
        wrong = agreement.outputs_differ(mine, theirs, agreement.tolerance(*cases))
        if wrong:
            self.failures.append(f"WRONG OUTPUTS: they do not do the same work, for {wrong}")


def _told_apart(results: Sequence[Result]) -> Iterator[Result]:
    """Two of the same case, in two environments or of two commits, differ by their side alone."""
    same = len({result.case.key for result in results}) == 1
    for side, result in zip(SIDES, results, strict=True):
        key = f"{result.case.key} ({side})" if same else result.case.key
        yield msgspec.structs.replace(result, case=msgspec.structs.replace(result.case, key=key))


def why_ended(asked: Asked, found: Comparison, story: Story) -> str:
    """Why there is no further pair; "" where there is one."""
    endings = {results[-1].status for results in story.results}
    if "interrupted" in endings:
        return f"interrupted by the user after {_pairs(found.ratio.n)}"
    if endings != {"ok"}:
        return "stopped, because a contender failed"
    if not found.ratio.n:
        return f"stopped, because they did not both tell {story.terms.metric}"
    enough = min(sequence.FEWEST, asked.pairs)
    if found.verdict != "cannot-tell" and story.pairs >= enough:
        return f"decided after {_pairs(story.pairs)}"
    if story.pairs >= asked.pairs:
        return f"undecided after {_pairs(story.pairs)}, the most that were allowed"
    each = story.spent / story.pairs
    if story.spent + each > asked.budget:
        return _out_of_time(asked, found, each)
    return ""


def _out_of_time(asked: Asked, found: Comparison, each: float) -> str:
    """The budget is spent: what it was enough for, and what would be enough."""
    needed = compare.pairs_needed(found)
    told = f"the budget of {human(asked.budget, 's')} ended after {_pairs(found.ratio.n)}"
    if found.ratio.n < sequence.FEWEST:
        needed = sequence.FEWEST + 2
        told += f", too few to know the noise between processes ({sequence.FEWEST} are needed)"
    if found.verdict != "cannot-tell":
        return f"{told}; so large a change is believed all the same"
    told = f"undecided: {told}"
    if not needed:
        return f"{told}; {sequence.MOST} pairs would hardly decide it"
    return f"{told}; about {needed} would decide: --budget {round(1.2 * needed * each + 1)}s"


def _pairs(count: int) -> str:
    return f"{count} pair{'' if count == 1 else 's'}"

"""Which of two is faster: fresh pairs of processes until the question is decided."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from assay import codec, contenders, environment, settings
from assay.analysis import agreement, compare, sequence
from assay.api import summary_of
from assay.errors import UsageError
from assay.findings import Comparison
from assay.pairing import SIDES, Setting, Taken, take_pair
from assay.records import Case, Plan, Procedure, Result
from assay.schedule import Watch
from assay.stores import folders
from assay.stores.sql import SqlStore
from assay.units import human

FILE = "comparison.json"  # in the run's folder
WARM = 10.0  # seconds: what a process' warm-up is reckoned from, and its sampling where apart
SHARE = 6  # of the budget, at most, for one process where apart


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison to be made."""

    pair: contenders.Pair
    terms: compare.Terms
    budget: float = 300.0  # seconds, all in all
    pairs: int = sequence.MOST  # at most
    timeout: float = 600.0  # seconds, for one process
    same: bool = False  # both are the same thing: what does this machine make of it?
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


def ab(
    *cases: str | Case,
    commands: Sequence[str] = (),
    pythons: Sequence[str] = (),
    commits: Sequence[str] = (),
    metric: str = "",
    budget: float = 300.0,
    minimum: float = compare.MINIMUM,
    pairs: int = sequence.MOST,
    timeout: float = 600.0,
    higher_is_better: bool = False,
    same: bool = False,
    outputs: bool = True,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: str | Path | None = None,
    watch: Watch | None = None,
) -> Iterator[Comparison]:
    """Compare two contenders; what is known is yielded after each pair, and kept with the run.

    The last one says why it `ended`. With `same`, one case is compared to itself.

    >>> for found in assay.ab("mnist-mlp@jax", "mnist-mlp@torch"):
    ...     print(found.verdict, found.ratio.value, found.ratio.low, found.ratio.high, found.ended)
    """
    name, _, pattern = metric.partition("=")
    name = name or (contenders.WALL if commands else "")
    texts = (*cases, *cases) if same and len(cases) == 1 else cases
    if commands:
        pair = contenders.of_commands(commands, (name, pattern), timeout, higher_is_better)
    else:
        pair = contenders.of_cases(texts, pythons, commits)
    if same and pair[0].case != pair[1].case:
        raise UsageError(
            f"{pair[0].name} and {pair[1].name} are not the same.", hint="Leave --aa out."
        )
    asked = Asked(
        pair=pair,
        terms=compare.Terms(name, minimum, higher_is_better),
        budget=budget,
        pairs=min(pairs, sequence.MOST),
        timeout=timeout,
        same=same,
        outputs=outputs,
    )
    plan = Plan(
        cases=tuple(contender.case for contender in pair),
        procedure=asked.procedure,
        label=label,
        tags=environment.safe_tags(dict(tags or {})),
    )
    store = SqlStore(settings.home(home))
    return _compared(asked, plan, store, store.new_run(plan), watch or _ignore)


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
        if taken.apart and not self.apart:
            self.apart = taken.apart
            self.notes.append(f"they took turns by process, not by step: {taken.apart}")
        for side, result in zip(SIDES, taken.results, strict=True):
            if result.status != "ok":
                self.failures.append(f"the {side} {_ended_as(result)}")
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
        self.notes += agreement.unfair(one, other)
        cases = [contender.case for contender in self._asked.pair]
        if len(taken.outputs) < 2 or not self._asked.outputs:
            return
        if (cases[0].workload, cases[0].params) != (cases[1].workload, cases[1].params):
            self.notes.append("outputs were not compared: the workloads differ")
            return
        mine, theirs = (taken.outputs[side] for side in SIDES)
        wrong = agreement.outputs_differ(mine, theirs, agreement.tolerance(*cases))
        if wrong:
            self.failures.append(f"{wrong}: they do not do the same work")


def _compared(
    asked: Asked, plan: Plan, store: SqlStore, run: Path, watch: Watch
) -> Iterator[Comparison]:
    story = Story(asked, run)
    setting = Setting(run, asked.procedure, asked.terms.minimum, story.deadline, watch)
    found = story.comparison()
    try:
        with folders.locked(run), contenders.checked_out(asked.pair) as pair:
            while not found.ended:
                taken = take_pair(pair, setting, story.pairs + 1, found.pairs, story.apart)
                story.add(_kept(taken, plan, store))
                found = story.comparison()
                found = msgspec.structs.replace(found, ended=_ended(asked, found, story))
                folders.write_whole(run / FILE, codec.encode(found, indent=2))
                yield found
                if any(result.status == "interrupted" for result in taken.results):
                    raise KeyboardInterrupt
    finally:
        store.close()


def _kept(taken: Taken, plan: Plan, store: SqlStore) -> Taken:
    """The pair with the run's label and tags, in the store."""
    first, second = (
        msgspec.structs.replace(result, label=plan.label, tags={**plan.tags, **result.tags})
        for result in taken.results
    )
    for result in {result.id: result for result in (first, second)}.values():
        store.append(result)
        summary_of(result, store)
    return taken._replace(results=(first, second))


def _ended(asked: Asked, found: Comparison, story: Story) -> str:
    """Why there is no further pair; "" where there is one."""
    if any(results[-1].status != "ok" for results in story.results):
        return f"stopped: {'; '.join(story.failures)}"
    if not found.ratio.n:
        return f"stopped: {story.terms.metric} was not among what they told"
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
    verdict = "undecided" if found.verdict == "cannot-tell" else "decided"
    told = (
        f"{verdict}: the budget of {human(asked.budget, 's')} ended after {_pairs(found.ratio.n)}"
    )
    if found.ratio.n < sequence.FEWEST:
        needed = sequence.FEWEST + 2
        told += f", too few to know the noise between processes ({sequence.FEWEST} are needed)"
    if verdict == "decided":
        return told
    if not needed:
        return f"{told}; {sequence.MOST} pairs would hardly decide it"
    return f"{told}; about {needed} would decide: --budget {round(1.2 * needed * each + 1)}s"


def _ended_as(result: Result) -> str:
    return f"ended as {result.status} ({result.reason})"


def _pairs(count: int) -> str:
    return f"{count} pair{'s' if count > 1 else ''}"


def _ignore(*_: object) -> None:
    pass

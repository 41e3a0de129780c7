"""Find the commit or package version that changed the speed, with noisy comparisons."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from assay.commands.ab import api as comparing
from assay.core.case_text import CaseLike
from assay.core.errors import AssayError, UsageError
from assay.core.options import Flag, Seconds, Share, StoreUrl, Trust, accept_old_keywords
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import SCHEMA, Case, Plan, Procedure
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.core.units import as_seconds, as_share
from assay.measure import plan, revisions
from assay.measure.recorder import Recorder, check_resumable, new_run, reopen_run
from assay.stats import student
from assay.stats.paired_ratio import Comparison
from assay.stats.sequential import MIN_PAIRS
from assay.stores.runs import BISECTION, read_document

MAX_RENEWALS = 4  # times that the budget is renewed to distinguish the ends
COMPARISONS_PER_HALVING = 4  # comparisons for each halving that would do without noise
ENVIRONMENTS = "environments"  # folder of a run with the versions of a package


@accept_old_keywords(home="store", minimum="min_effect")
def bisect(
    case: CaseLike,
    good: Annotated[str, Flag("The end that was fast.", "COMMIT|NAME==VERSION")],
    bad: Annotated[str, Flag("The end that is slow.", "COMMIT|NAME==VERSION")],
    metric: Annotated[str, Flag("What to compare, as of assay ab; default: step_time.")] = "",
    build: Annotated[str, Flag("Run in the checkout of each commit first.", "COMMAND")] = "",
    budget: Annotated[
        Seconds,
        Flag(
            "Wall-clock time for one comparison; for the first, of the two ends, up to five times."
        ),
    ] = "1m",
    min_effect: Annotated[Share, Flag("Minimum difference between the two ends.")] = "1%",
    confidence: Annotated[Share, Flag("Confidence at which to stop.")] = "95%",
    trust: Trust = False,
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> Iterator[Bisection]:
    """Find the commit (`good="v1", bad="HEAD"`) or the version of a package (`good="jax==0.9.0"`)
    that made a case slower or faster; the state is yielded after each comparison and stored.
    `trust` lets a `.pt2` file run code.

    >>> for state in assay.bisect("./my.py:Net@torch", "v1", "HEAD"):
    ...     print(state.suspects, state.chance, state.ended)
    """
    (full_case,) = _single_case(plan.expand_cases([plan.as_case(case, trust)]))
    revision_range = revisions.find_revisions(full_case, good, bad)
    if len(revision_range.names) < 2:
        raise UsageError(f"{good} and {bad} are the same.", hint="There is nothing between them.")
    request = Bisection(
        key=full_case.key,
        what=revision_range.kind,
        package=revision_range.package,
        names=revision_range.names,
        metric=metric,
        build=build,
        budget=as_seconds(budget, "budget", "1m"),
        minimum=as_share(min_effect, "The smallest effect", "1%"),
        confidence=as_share(confidence, "confidence", "95%"),
    )
    bisect_plan = Plan(cases=(full_case,), procedure=Procedure(), verb="bisect")
    return _begin(request, bisect_plan, store, progress)


def resume(run: str, home: Home = None, progress: ProgressCallback = ignore) -> Iterator[Bisection]:
    """Continue a bisection; finished comparisons are not repeated."""
    name = check_resumable(run, "bisect", home)
    with closing(open_store(home)) as store:
        bisection = read_document(store, name, BISECTION, Bisection)
    return _resume(msgspec.structs.replace(bisection, ended=""), name, home, progress)


def load_bisection(run: str, home: Home = None) -> Bisection:
    """The stored bisection of a run."""
    with closing(open_store(home)) as store:
        return read_document(store, run, BISECTION, Bisection)


def _single_case(cases: tuple[Case, ...]) -> tuple[Case]:
    if len(cases) != 1:
        raise UsageError(
            f"{cases[0].workload} names no backend, and {len(cases)} can open it here.",
            hint=f"Name one, as in {cases[0].key}.",
        )
    return (cases[0],)


def _begin(
    request: Bisection, bisect_plan: Plan, home: Home, progress: ProgressCallback
) -> Iterator[Bisection]:
    with new_run(bisect_plan, home) as run:
        bisection = msgspec.structs.replace(request, run=run.name)
        run.save_document(BISECTION, bisection)
        yield from _run_steps(bisection, run, home, progress)


def _resume(
    bisection: Bisection, name: str, home: Home, progress: ProgressCallback
) -> Iterator[Bisection]:
    with reopen_run(name, home) as run:
        yield from _run_steps(bisection, run, home, progress)


def _run_steps(
    bisection: Bisection, run: Recorder, home: Home, progress: ProgressCallback
) -> Iterator[Bisection]:
    """Compare the bad end first, then the revision that splits the probability most evenly."""
    case = run.plan.cases[0]
    folder = run.store.folder(run.name)
    index = len(bisection.names) - 1
    while not bisection.ended:
        if math.isfinite(bisection.effect):  # the ends differ
            index = next_place(bisection)
        step = _try_revision(bisection, index, case, folder, home, progress) if index else None
        bisection = update_posterior(bisection, step)
        run.save_document(BISECTION, bisection)
        yield bisection


def next_place(bisection: Bisection) -> int:
    """Index of the revision to compare next; 0: none."""
    return most_even_split(_posterior(bisection), _skipped_revisions(bisection))


def update_posterior(bisection: Bisection, step: BisectStep | None) -> Bisection:
    """Add one comparison and update the suspects; sets `ended` when they are certain enough."""
    last = len(bisection.names) - 1
    if step is None:
        return _finish(bisection, "undecided: nothing is left that could be measured")
    bisection = msgspec.structs.replace(bisection, tried=(*bisection.tried, step))
    if step.place == last and not math.isfinite(bisection.effect):
        return _update_from_ends(bisection, step)
    chances = _posterior(bisection)
    indices, chance = find_suspects(chances, _skipped_revisions(bisection))
    names = tuple(bisection.names[index] for index in indices)
    bisection = msgspec.structs.replace(bisection, suspects=names, chance=chance)
    if chance >= bisection.confidence:
        return _finish(bisection, f"decided after {len(bisection.tried)} comparisons")
    if len(bisection.tried) > COMPARISONS_PER_HALVING * (2 + math.log2(last + 1)):
        return _finish(bisection, f"undecided after {len(bisection.tried)} comparisons")
    return bisection


def _update_from_ends(bisection: Bisection, step: BisectStep) -> Bisection:
    if step.verdict == "skipped":
        return _finish(bisection, f"undecided: the bad end cannot be measured: {step.text}")
    if step.verdict not in {"slower", "faster"}:
        how = "are the same" if step.verdict == "same" else "cannot be distinguished"
        return _finish(bisection, f"the ends {how}: {step.text}")
    bisection = msgspec.structs.replace(bisection, effect=step.ratio)
    if len(bisection.names) == 2:
        bisection = msgspec.structs.replace(bisection, suspects=(bisection.names[1],), chance=1.0)
        return _finish(bisection, "decided after 1 comparison: nothing lies between")
    return bisection


def _finish(bisection: Bisection, text: str) -> Bisection:
    return msgspec.structs.replace(bisection, ended=text)


def _posterior(bisection: Bisection) -> list[float]:
    observations = [observation_of(step) for step in bisection.tried if step.verdict != "skipped"]
    return probabilities(len(bisection.names) - 1, math.log(bisection.effect), observations)


def _skipped_revisions(bisection: Bisection) -> set[int]:
    return {step.place for step in bisection.tried if step.verdict == "skipped"}


def _try_revision(
    bisection: Bisection,
    index: int,
    case: Case,
    folder: Path,
    home: Home,
    progress: ProgressCallback,
) -> BisectStep:
    """Compare one revision with the good end; the minimum effect is half that of the bad end."""
    name = bisection.names[index]
    half = (
        abs(math.sqrt(bisection.effect) - 1)
        if math.isfinite(bisection.effect)
        else bisection.minimum
    )
    try:
        comparisons = comparing.ab(
            msgspec.structs.replace(case, key=""),
            metric=bisection.metric,
            budget=bisection.budget,
            min_effect=min(max(half, 0.001), 0.5),
            outputs=False,
            build=bisection.build,
            tags={"bisect": bisection.run},
            store=home,
            progress=progress,
            **_sides(bisection, name, folder),  # type: ignore[arg-type]
        )
        if math.isfinite(bisection.effect):
            return _compare_until_decisive(comparisons, index, name, math.log(bisection.effect))
        return _compare_ends(comparisons, index, name, home, progress)
    except AssayError as error:
        return BisectStep(place=index, name=name, verdict="skipped", text=f"{error}")


def _compare_until_decisive(
    comparisons: Iterator[Comparison], index: int, name: str, effect: float
) -> BisectStep:
    """Stop as soon as one side of the change is certain: fewer pairs than a verdict of ab needs."""
    step = BisectStep(place=index, name=name, verdict="skipped")
    for last in comparisons:
        step = _step_from_comparison(last, index, name)
        if step.verdict != "skipped" and is_decisive(observation_of(step), effect):
            break
    return step


def _compare_ends(
    comparisons: Iterator[Comparison],
    index: int,
    name: str,
    home: Home,
    progress: ProgressCallback,
) -> BisectStep:
    """The ends must differ first, so the budget is renewed several times."""
    last = list(comparisons)[-1]
    for _ in range(MAX_RENEWALS):
        if last.verdict == "cannot-tell" and not last.failures:
            last = list(comparing.resume(last.run, home, progress))[-1]
    return _step_from_comparison(last, index, name)


def _step_from_comparison(last: Comparison, index: int, name: str) -> BisectStep:
    if last.failures or not last.ratio.n or not math.isfinite(last.ratio.high):
        text = "; ".join(last.failures) or last.ended
        return BisectStep(place=index, name=name, verdict="skipped", text=text, run=last.run)
    return BisectStep(
        place=index,
        name=name,
        verdict=last.verdict,
        ratio=last.ratio.value,
        low=last.ratio.low,
        high=last.ratio.high,
        pairs=last.ratio.n,
        spread=last.spread if math.isfinite(last.spread) else 0.0,
        text=last.ended,
        run=last.run,
    )


def _sides(bisection: Bisection, name: str, folder: Path) -> dict[str, tuple[str, str]]:
    """The good end and another revision, as ab takes them."""
    good = bisection.names[0]
    if bisection.what == "commit":
        return {"commits": (good, name)}
    first, second = (
        str(revisions.environment(folder / ENVIRONMENTS, bisection.package, version))
        for version in (good, name)
    )
    return {"pythons": (first, second)}


# Which of many revisions made it slower, when each comparison is noisy.
#
# Every revision may be the first changed one; each comparison with the good end moves the
# probabilities by its likelihood, and the next one is made where they part in half (Horstein 1963;
# Waeber, Frazier and Henderson 2013). An uncertain comparison is therefore
# repeated by itself, and the answer has a probability.

ERROR_RATE = 0.02  # how often a comparison may be wrong altogether, whatever its interval says
_QUANTILE = 2.326  # of the 98 % interval that a comparison has
_EFFECT_SLACK = 0.15  # of the effect: it need not be the same at each revision


class Observation(NamedTuple):
    """One comparison of a revision with the good end, in logarithms."""

    revision: int  # its index; the good end is 0
    change: float
    error: float  # its standard error
    degrees: float = math.inf  # of freedom of that


def observation_of(step: BisectStep) -> Observation:
    """The error is that of the mean of the pairs: the interval of a comparison holds at every look
    and is several times as wide for few pairs."""
    change = math.log(step.ratio)
    if step.pairs >= MIN_PAIRS and step.spread > 0:
        return Observation(step.place, change, step.spread / math.sqrt(step.pairs), step.pairs - 1)
    width = math.log(step.high) - math.log(step.low)
    return Observation(step.place, change, width / (2 * _QUANTILE))


def probabilities(count: int, effect: float, observations: Sequence[Observation]) -> list[float]:
    """That revision 1, 2, … `count` is the first changed one; `effect` is that of the bad end."""
    logs = [0.0] * count
    for observation in observations:
        changed, same = (math.log(_likelihood(observation, mean, effect)) for mean in (effect, 0.0))
        for first in range(1, count + 1):
            logs[first - 1] += changed if observation.revision >= first else same
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    return [weight / sum(weights) for weight in weights]


def is_decisive(observation: Observation, effect: float) -> bool:
    """Whether it decides between changed and same with the certainty of a single comparison."""
    changed, same = (_likelihood(observation, mean, effect) for mean in (effect, 0.0))
    return max(changed, same) * ERROR_RATE > min(changed, same)


def _likelihood(observation: Observation, mean: float, effect: float) -> float:
    """Student's t around the mean, mixed with a uniform for outliers."""
    error = math.hypot(observation.error, _EFFECT_SLACK * effect)
    density = student.density((observation.change - mean) / error, observation.degrees) / error
    return (1 - ERROR_RATE) * density + ERROR_RATE / (4 * abs(effect))


def most_even_split(chances: Sequence[float], skipped: Collection[int]) -> int:
    """The revision to compare next: the most even split of the probabilities among those that
    can be measured; 0: none left. The last one is the bad end, which was measured."""
    below, best, choice = 0.0, -1.0, 0
    for index in range(1, len(chances)):
        below += chances[index - 1]
        worth = min(below, 1 - below)
        if index not in skipped and worth > best:
            best, choice = worth, index
    return choice if best > 1e-9 else 0


def find_suspects(chances: Sequence[float], skipped: Collection[int]) -> tuple[list[int], float]:
    """The likeliest first changed revision and its probability; with those before it that could
    not be measured and are indistinguishable from it."""
    groups: list[list[int]] = [[]]
    for index in range(1, len(chances) + 1):
        groups[-1].append(index)
        if index not in skipped:
            groups.append([])
    best = max((g for g in groups if g), key=lambda g: sum(chances[p - 1] for p in g))
    return best, sum(chances[index - 1] for index in best)


class BisectStep(msgspec.Struct, frozen=True, kw_only=True):
    """One revision compared with the good end, or skipped."""

    place: int  # in `names`
    name: str
    verdict: str  # as of ab, or skipped
    ratio: float = math.nan
    low: float = math.nan
    high: float = math.nan
    pairs: int = 0  # of processes that the comparison had
    spread: float = 0.0  # standard deviation of their logarithms; 0: not known
    text: str = ""  # why it ended or was skipped
    run: str = ""  # of the comparison


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """Which revision changed the speed, as far as is known."""

    key: str
    what: Literal["commit", "package"]
    package: str = ""
    names: tuple[str, ...]  # of all revisions, the good end first
    metric: str = ""
    budget: float  # seconds, for one comparison
    minimum: float
    confidence: float  # asked for
    build: str = ""
    tried: tuple[BisectStep, ...] = ()  # the bad end first
    effect: float = math.nan  # of the bad end, as a ratio
    suspects: tuple[str, ...] = ()  # the likeliest; several where some could not be measured
    chance: float = 0.0  # that it is one of them
    ended: str = ""
    run: str = ""
    schema: int = SCHEMA
    kind: Literal["bisection"] = "bisection"

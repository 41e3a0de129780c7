"""Which commit or package version changed the speed: a bisection that knows its comparisons err."""

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
from assay.core.options import Flag, Seconds, Share, StoreUrl, Trust, older_keywords
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import SCHEMA, Case, Plan, Procedure
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.core.units import as_seconds, as_share
from assay.measure import plan, revisions
from assay.measure.recorder import Run, new_run, resumable, resumed_run
from assay.stats import student
from assay.stats.paired_ratio import Comparison
from assay.stats.sequential import FEWEST
from assay.stores.runs import BISECTION, read_document

AGAIN = 4  # times that the budget is spent once more to tell the ends apart
MOST = 4  # comparisons for each halving that would do without noise
ENVIRONMENTS = "environments"  # folder of a run with the versions of a package


@older_keywords(home="store", minimum="min_effect")
def bisect(
    case: CaseLike,
    good: Annotated[str, Flag("The end that was fast.", "COMMIT|NAME==VERSION")],
    bad: Annotated[str, Flag("The end that is slow.", "COMMIT|NAME==VERSION")],
    metric: Annotated[str, Flag("What to compare, as of assay ab; default: step_time.")] = "",
    build: Annotated[str, Flag("Run in the checkout of each commit first.", "COMMAND")] = "",
    budget: Annotated[Seconds, Flag("Time for one comparison.")] = "1m",
    min_effect: Annotated[Share, Flag("The ends have to differ by this at least.")] = "1%",
    confidence: Annotated[Share, Flag("How sure it has to be to stop.")] = "95%",
    trust: Trust = False,
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> Iterator[Bisection]:
    """Find the commit (`good="v1", bad="HEAD"`) or the version of a package (`good="jax==0.9.0"`)
    that made a case slower or faster; what is known is yielded after each comparison, and kept.
    `trust` lets a `.pt2` file run code.

    >>> for found in assay.bisect("./my.py:Net@torch", "v1", "HEAD"):
    ...     print(found.suspects, found.chance, found.ended)
    """
    (whole,) = _only(plan.expand_cases([plan.as_case(case, trust)]))
    found = revisions.between(whole, good, bad)
    if len(found.names) < 2:
        raise UsageError(f"{good} and {bad} are the same.", hint="There is nothing between them.")
    request = Bisection(
        key=whole.key,
        what=found.kind,
        package=found.package,
        names=found.names,
        metric=metric,
        build=build,
        budget=as_seconds(budget, "budget", "1m"),
        minimum=as_share(min_effect, "The smallest effect", "1%"),
        confidence=as_share(confidence, "confidence", "95%"),
    )
    made = Plan(cases=(whole,), procedure=Procedure(), verb="bisect")
    return _begun(request, made, store, progress)


def resume(run: str, home: Home = None, progress: ProgressCallback = ignore) -> Iterator[Bisection]:
    """Go on with a bisection; comparisons that were made are not made again."""
    name = resumable(run, "bisect", home)
    with closing(open_store(home)) as store:
        found = read_document(store, name, BISECTION, Bisection)
    return _resumed(msgspec.structs.replace(found, ended=""), name, home, progress)


def kept(run: str, home: Home = None) -> Bisection:
    """What a bisection found, as far as it came."""
    with closing(open_store(home)) as store:
        return read_document(store, run, BISECTION, Bisection)


def _only(cases: tuple[Case, ...]) -> tuple[Case]:
    if len(cases) != 1:
        raise UsageError(
            f"{cases[0].workload} names no backend, and {len(cases)} can open it here.",
            hint=f"Name one, as in {cases[0].key}.",
        )
    return (cases[0],)


def _begun(
    request: Bisection, made: Plan, home: Home, progress: ProgressCallback
) -> Iterator[Bisection]:
    with new_run(made, home) as run:
        found = msgspec.structs.replace(request, run=run.name)
        run.keep_document(BISECTION, found)
        yield from _followed(found, run, home, progress)


def _resumed(
    found: Bisection, name: str, home: Home, progress: ProgressCallback
) -> Iterator[Bisection]:
    with resumed_run(name, home) as run:
        yield from _followed(found, run, home, progress)


def _followed(
    found: Bisection, run: Run, home: Home, progress: ProgressCallback
) -> Iterator[Bisection]:
    """The bad end first; then whatever parts the chances best."""
    case = run.plan.cases[0]
    folder = run.store.folder(run.name)
    place = len(found.names) - 1
    while not found.ended:
        if math.isfinite(found.effect):  # the ends are told apart
            place = next_place(found)
        tried = _tried(found, place, case, folder, home, progress) if place else None
        found = judged(found, tried)
        run.keep_document(BISECTION, found)
        yield found


def next_place(found: Bisection) -> int:
    """Of the revision to compare next; 0 where there is none."""
    return most_even_split(_chances(found), _skipped(found))


def judged(found: Bisection, tried: Tried | None) -> Bisection:
    """With one comparison more: what is known now, and whether it is enough."""
    last = len(found.names) - 1
    if tried is None:
        return _ended(found, "undecided: nothing is left that could be measured")
    found = msgspec.structs.replace(found, tried=(*found.tried, tried))
    if tried.place == last and not math.isfinite(found.effect):
        return _of_ends(found, tried)
    chances = _chances(found)
    places, chance = suspects(chances, _skipped(found))
    names = tuple(found.names[place] for place in places)
    found = msgspec.structs.replace(found, suspects=names, chance=chance)
    if chance >= found.confidence:
        return _ended(found, f"decided after {len(found.tried)} comparisons")
    if len(found.tried) > MOST * (2 + math.log2(last + 1)):
        return _ended(found, f"undecided after {len(found.tried)} comparisons")
    return found


def _of_ends(found: Bisection, tried: Tried) -> Bisection:
    if tried.verdict == "skipped":
        return _ended(found, f"undecided: the bad end cannot be measured: {tried.text}")
    if tried.verdict not in {"slower", "faster"}:
        how = "are the same" if tried.verdict == "same" else "cannot be told apart"
        return _ended(found, f"the ends {how}: {tried.text}")
    found = msgspec.structs.replace(found, effect=tried.ratio)
    if len(found.names) == 2:
        found = msgspec.structs.replace(found, suspects=(found.names[1],), chance=1.0)
        return _ended(found, "decided after 1 comparison: nothing lies between")
    return found


def _ended(found: Bisection, text: str) -> Bisection:
    return msgspec.structs.replace(found, ended=text)


def _chances(found: Bisection) -> list[float]:
    seen = [measured(one) for one in found.tried if one.verdict != "skipped"]
    return probabilities(len(found.names) - 1, math.log(found.effect), seen)


def _skipped(found: Bisection) -> set[int]:
    return {one.place for one in found.tried if one.verdict == "skipped"}


def _tried(
    found: Bisection,
    place: int,
    case: Case,
    folder: Path,
    home: Home,
    progress: ProgressCallback,
) -> Tried:
    """One revision against the good end; the effect to be told from none is half that of the
    bad end."""
    name = found.names[place]
    half = abs(math.sqrt(found.effect) - 1) if math.isfinite(found.effect) else found.minimum
    try:
        compared = comparing.ab(
            msgspec.structs.replace(case, key=""),
            metric=found.metric,
            budget=found.budget,
            min_effect=min(max(half, 0.001), 0.5),
            outputs=False,
            build=found.build,
            tags={"bisect": found.run},
            store=home,
            progress=progress,
            **_sides(found, name, folder),  # type: ignore[arg-type]
        )
        if math.isfinite(found.effect):
            return _until_decisive(compared, place, name, math.log(found.effect))
        return _until_told(compared, place, name, home, progress)
    except AssayError as error:
        return Tried(place=place, name=name, verdict="skipped", text=f"{error}")


def _until_decisive(compared: Iterator[Comparison], place: int, name: str, effect: float) -> Tried:
    """Until it says on which side of the change the revision is as surely as one comparison is
    believed; that takes fewer pairs than ab's verdict, which is about any effect."""
    tried = Tried(place=place, name=name, verdict="skipped")
    for last in compared:
        tried = _of_comparison(last, place, name)
        if tried.verdict != "skipped" and decisive(measured(tried), effect):
            break
    return tried


def _until_told(
    compared: Iterator[Comparison],
    place: int,
    name: str,
    home: Home,
    progress: ProgressCallback,
) -> Tried:
    """The ends have to be told apart first, so that the budget is spent several times."""
    last = list(compared)[-1]
    for _ in range(AGAIN):
        if last.verdict == "cannot-tell" and not last.failures:
            last = list(comparing.resume(last.run, home, progress))[-1]
    return _of_comparison(last, place, name)


def _of_comparison(last: Comparison, place: int, name: str) -> Tried:
    if last.failures or not last.ratio.n or not math.isfinite(last.ratio.high):
        text = "; ".join(last.failures) or last.ended
        return Tried(place=place, name=name, verdict="skipped", text=text, run=last.run)
    return Tried(
        place=place,
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


def _sides(found: Bisection, name: str, folder: Path) -> dict[str, tuple[str, str]]:
    """The good end and another revision, as ab takes them."""
    good = found.names[0]
    if found.what == "commit":
        return {"commits": (good, name)}
    first, second = (
        str(revisions.environment(folder / ENVIRONMENTS, found.package, version))
        for version in (good, name)
    )
    return {"pythons": (first, second)}


# Which of many revisions made it slower, when each comparison is noisy.
#
# Every revision may be the first changed one; each comparison with the good end moves the
# probabilities by its likelihood, and the next one is made where they part in half (Horstein 1963;
# Waeber, Frazier and Henderson 2013). So a doubtful comparison is repeated by itself, and what is
# told in the end has a probability.

SURE = 0.02  # how often a comparison may be wrong altogether, whatever its interval says
_QUANTILE = 2.326  # of the 98 % interval that a comparison has
_SLACK = 0.15  # of the effect: it need not be the same at each revision


class Weighed(NamedTuple):
    """One comparison of a revision with the good end, in logarithms."""

    place: int  # of the revision; the good end is 0
    change: float
    error: float  # its standard error
    degrees: float = math.inf  # of freedom of that


def measured(one: Tried) -> Weighed:
    """Its error is that of the mean of its pairs. Its interval says less: that holds at every look
    at the comparison, so that of few pairs it is several times as wide as the error warrants."""
    change = math.log(one.ratio)
    if one.pairs >= FEWEST and one.spread > 0:
        return Weighed(one.place, change, one.spread / math.sqrt(one.pairs), one.pairs - 1)
    width = math.log(one.high) - math.log(one.low)
    return Weighed(one.place, change, width / (2 * _QUANTILE))


def probabilities(count: int, effect: float, seen: Sequence[Weighed]) -> list[float]:
    """That revision 1, 2, … `count` is the first changed one; `effect` is that of the bad end."""
    logs = [0.0] * count
    for one in seen:
        changed, same = (math.log(_likelihood(one, mean, effect)) for mean in (effect, 0.0))
        for first in range(1, count + 1):
            logs[first - 1] += changed if one.place >= first else same
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    return [weight / sum(weights) for weight in weights]


def decisive(one: Weighed, effect: float) -> bool:
    """Whether it says changed or same as surely as a single comparison is believed."""
    changed, same = (_likelihood(one, mean, effect) for mean in (effect, 0.0))
    return max(changed, same) * SURE > min(changed, same)


def _likelihood(one: Weighed, mean: float, effect: float) -> float:
    """Student's about what is expected, and now and then anything at all."""
    error = math.hypot(one.error, _SLACK * effect)
    density = student.density((one.change - mean) / error, one.degrees) / error
    return (1 - SURE) * density + SURE / (4 * abs(effect))


def most_even_split(chances: Sequence[float], skipped: Collection[int]) -> int:
    """The revision to compare next: where the chances part most evenly, of those that can be
    measured; 0 where there is none left. The last one is the bad end, which was measured."""
    below, best, found = 0.0, -1.0, 0
    for place in range(1, len(chances)):
        below += chances[place - 1]
        worth = min(below, 1 - below)
        if place not in skipped and worth > best:
            best, found = worth, place
    return found if best > 1e-9 else 0


def suspects(chances: Sequence[float], skipped: Collection[int]) -> tuple[list[int], float]:
    """The likeliest first changed revision and its probability; with those before it that could
    not be measured, for they cannot be told from it."""
    groups: list[list[int]] = [[]]
    for place in range(1, len(chances) + 1):
        groups[-1].append(place)
        if place not in skipped:
            groups.append([])
    best = max((g for g in groups if g), key=lambda g: sum(chances[p - 1] for p in g))
    return best, sum(chances[place - 1] for place in best)


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One revision that a bisection held against the good end, or could not."""

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
    tried: tuple[Tried, ...] = ()  # the bad end first
    effect: float = math.nan  # of the bad end, as a ratio
    suspects: tuple[str, ...] = ()  # the likeliest; several where some could not be measured
    chance: float = 0.0  # that it is one of them
    ended: str = ""
    run: str = ""
    schema: int = SCHEMA
    kind: Literal["bisection"] = "bisection"

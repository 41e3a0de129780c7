"""Which of two is faster: fresh pairs of processes until the question is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path

import msgspec

from assay.commands.ab.pairs import (
    PairContext,
    PairResults,
    PairSpec,
    pairs_of,
    take_pair,
    take_remote_pair,
)
from assay.commands.ab.state import ComparisonRequest, ComparisonState, why_ended
from assay.core.case_text import CaseLike
from assay.core.errors import UsageError
from assay.core.executor import Elsewhere
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Plan, Result
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.core.units import as_seconds, as_share
from assay.logs.patterns import compile_pattern
from assay.measure import contenders, monitoring, revisions, shared_cache
from assay.measure.machine.environment import safe_tags
from assay.measure.recorder import Run, new_run, resumable, resumed_run
from assay.measure.remote import executor
from assay.stats import generation, paired_ratio, sequential
from assay.stats.paired_ratio import Comparison
from assay.stores.runs import COMPARISON, REQUEST, read_document

Where = AbstractContextManager[Elsewhere | None]

# Metrics that every case has, and every case that makes text.
OF_CASES = ("step_time", "item_time", paired_ratio.FASTEST, *paired_ratio.ONCE, *generation.TIMED)


def ab(
    *cases: CaseLike,
    commands: Sequence[str] = (),
    pythons: Sequence[str] = (),
    commits: Sequence[str] = (),
    metric: str = "",
    budget: float | str = 300.0,
    minimum: float | str = paired_ratio.MINIMUM,
    pairs: int = sequential.MOST,
    timeout: float | str = 600.0,
    higher_is_better: bool = False,
    same: bool = False,
    outputs: bool = True,
    cold: bool = False,
    build: str = "",
    trust: bool = False,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: Home = None,
    progress: ProgressCallback = ignore,
    on: str = "",
    need: Mapping[str, str] | None = None,
) -> Iterator[Comparison]:
    """Compare two contenders; what is known is yielded after each pair, and kept with the run.

    The last one says why it `ended`. With `same`, one is compared to itself; `cold` shares nothing
    compiled; `build` is run in each commit's checkout; `trust` lets a `.pt2` file run code; `on` is
    a Ray cluster, for both of a pair.

    >>> for found in assay.ab("mnist-mlp@jax", "mnist-mlp@torch"):
    ...     print(found.verdict, found.ratio.value, found.ratio.low, found.ratio.high, found.ended)
    """
    _check_elsewhere(on, need, {"--python": pythons, "--commit": commits})
    _check_mixture({"cases": cases, "--python": pythons, "--commit": commits}, commands)
    name, pattern = _metric(metric, commands)
    better = higher_is_better or (name == generation.RATE and not commands)
    limit = as_seconds(timeout, "timeout", "10m")
    if same and len(commands or cases) == 1:
        commands, cases = [*commands] * 2, cases * 2
    request = ComparisonRequest(
        pair=_pair_of(commands, (name, pattern), limit, (cases, pythons, commits, trust)),
        terms=paired_ratio.Terms(name, as_share(minimum, "The smallest effect", "1%"), better),
        budget=as_seconds(budget, "budget", "5m"),
        pairs=min(pairs, sequential.MOST),
        timeout=limit,
        outputs=outputs,
        cold=cold,
        build=build,
    )
    _check_same(request.pair, same)
    return _compared(request, _planned(request, label, tags), home, progress, executor(on, need))


def _metric(text: str, commands: Sequence[str]) -> tuple[str, str]:
    """Its name, and the pattern by which it is found in a command's output."""
    name, equals, pattern = text.partition("=")
    _check_pattern(name, pattern, commands) if equals else _check_metric(name, commands)
    return name or (contenders.WALL if commands else ""), pattern


def _pair_of(
    commands: Sequence[str],
    metric: tuple[str, str],
    limit: float,
    of_cases: tuple[Sequence[CaseLike], Sequence[str], Sequence[str], bool],
) -> contenders.Pair:
    if commands:
        return contenders.of_commands(commands, metric, limit)
    return contenders.of_cases(*of_cases)


def resume(
    run: str,
    home: Home = None,
    progress: ProgressCallback = ignore,
    on: str = "",
    need: Mapping[str, str] | None = None,
) -> Iterator[Comparison]:
    """Go on with a comparison that was interrupted or undecided, for its budget once more."""
    name = resumable(run, "ab", home)
    with closing(open_store(home)) as store:
        request = read_document(store, name, REQUEST, ComparisonRequest)
    contenders.check_whole(request.pair, name)
    _check_elsewhere(on, need, {"--commit": [one.commit for one in request.pair if one.commit]})
    return _resumed(request, name, home, progress, executor(on, need))


def kept(run: str, home: Home = None) -> Comparison:
    """What a comparison found, as far as it came."""
    with closing(open_store(home)) as store:
        return read_document(store, run, COMPARISON, Comparison)


def _planned(request: ComparisonRequest, label: str, tags: Mapping[str, str] | None) -> Plan:
    return Plan(
        cases=tuple(contender.case for contender in request.pair),
        procedure=request.procedure,
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="ab",
    )


def _check_elsewhere(
    on: str, need: Mapping[str, str] | None, of_this_machine: Mapping[str, Sequence[str]]
) -> None:
    executor(on, need)  # a mistake there is told first
    for name, given in of_this_machine.items():
        if on and given:
            raise UsageError(
                f"{name} names a folder of this machine, and --on {on} measures on others.",
                hint="On a cluster, compare two cases or two commands that its nodes have.",
            )


def _check_mixture(of_cases: Mapping[str, Sequence[object]], commands: Sequence[str]) -> None:
    for name, given in of_cases.items():
        if given and commands:
            raise UsageError(
                f"Both {name} and --cmd were given.",
                hint=f"Give {name} or --cmd, not both: a comparison is of cases or of commands.",
            )


def _check_pattern(name: str, pattern: str, commands: Sequence[str]) -> None:
    if not commands:
        raise UsageError(
            f"--metric {name}=… is read from the output of a command, but cases are compared.",
            hint=f"Of cases: {', '.join(OF_CASES)} or a peak.",
        )
    if not name or not pattern:
        raise UsageError(
            f"--metric is '{name}={pattern}', which lacks its {'pattern' if name else 'name'}.",
            hint="As in: --metric 'speed=speed: {number}'",
        )
    compile_pattern(pattern)


def _check_metric(name: str, commands: Sequence[str]) -> None:
    """At once, rather than after the first pair."""
    known = (contenders.WALL,) if commands else OF_CASES
    if not name or name in known:
        return
    peaks = monitoring.peak_names()
    if name not in peaks:
        more = "; or NAME=REGEX, found in their output" if commands else ""
        raise UsageError(
            f"{'Commands' if commands else 'Cases'} have no metric named '{name}'.",
            hint=f"They have: {', '.join((*known, *peaks))}{more}.",
        )


def _check_same(pair: contenders.Pair, wanted: bool) -> None:
    """What is compared to itself is asked for as such, however it is spelled."""
    same = contenders.identity(pair[0]) == contenders.identity(pair[1])
    if same == wanted:
        return
    if wanted:
        names = " and ".join(contender.name for contender in pair)
        raise UsageError(f"{names} are not the same.", hint="Leave --aa out.")
    raise UsageError(
        f"Both are the same: {pair[0].name}.",
        hint="To see what this machine calls different, use --aa (same=True).",
    )


def _compared(
    request: ComparisonRequest, plan: Plan, home: Home, progress: ProgressCallback, where: Where
) -> Iterator[Comparison]:
    with where as there, new_run(plan, home, there) as run:
        safe = contenders.without_secrets(request.pair)
        run.keep_document(REQUEST, msgspec.structs.replace(request, pair=safe))
        yield from _followed(request, ComparisonState(request, run.name), run, progress)


def _resumed(
    request: ComparisonRequest, name: str, home: Home, progress: ProgressCallback, where: Where
) -> Iterator[Comparison]:
    with where as there, resumed_run(name, home, there) as run:
        state = ComparisonState(request, name)
        for results in pairs_of(run.results()):
            state.add(PairResults(results, {}, ""))
        yield from _followed(request, state, run, progress)


def _followed(
    request: ComparisonRequest, state: ComparisonState, run: Run, progress: ProgressCallback
) -> Iterator[Comparison]:
    for found, _ in run.keep(_pairs(request, state, run, progress)):
        run.keep_document(COMPARISON, found)
        yield found


def _builder(command: str) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        if command:
            revisions.build(command, folder)

    return build


def _pairs(
    request: ComparisonRequest, state: ComparisonState, run: Run, progress: ProgressCallback
) -> Iterator[tuple[Comparison, Sequence[Result]]]:
    """What is known after each pair, and its results."""
    context = PairContext(run.plan, request.procedure, request.terms.minimum, state.deadline)
    state.notes += shared_cache.notes(run.plan)
    comparison = state.comparison()
    with contenders.checked_out(request.pair, _builder(request.build)) as pair:
        while not comparison.ended:
            known = comparison.pairs
            spec = PairSpec(pair, state.pairs + 1, known, state.apart, state.earlier())
            if run.elsewhere is None:
                results = take_pair(spec, context, run.new_case, progress)
            else:
                results = take_remote_pair(spec, context, run, progress)
            state.add(results)
            comparison = state.comparison()
            ended = why_ended(request, comparison, state)
            comparison = msgspec.structs.replace(comparison, ended=ended)
            yield comparison, results.results

"""The loop of a comparison: measure pairs and store the state until it is decided."""

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
from assay.commands.ab.request import check_elsewhere
from assay.commands.ab.state import ComparisonRequest, ComparisonState, why_ended
from assay.core.executor import Elsewhere
from assay.core.progress import ProgressCallback
from assay.core.records import Plan, Result
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.measure import contenders, revisions, shared_cache
from assay.measure.machine.environment import safe_tags
from assay.measure.recorder import Run, new_run, resumable, resumed_run
from assay.measure.remote import executor
from assay.stats.paired_ratio import Comparison
from assay.stores.runs import COMPARISON, REQUEST, read_document

Where = AbstractContextManager[Elsewhere | None]


def compare_pairs(
    request: ComparisonRequest,
    plan: Plan,
    home: Home,
    progress: ProgressCallback,
    machines: Where,
) -> Iterator[Comparison]:
    """Start a comparison; yield its state after each pair."""
    with machines as nodes, new_run(plan, home, nodes) as run:
        safe = contenders.without_secrets(request.pair)
        run.save_document(REQUEST, msgspec.structs.replace(request, pair=safe))
        yield from _followed(request, ComparisonState(request, run.name), run, progress)


def resume_pairs(
    run: str,
    home: Home,
    progress: ProgressCallback,
    on: str,
    need: Mapping[str, str] | None,
) -> Iterator[Comparison]:
    """Continue a comparison that was interrupted or undecided, for its budget once more."""
    name = resumable(run, "ab", home)
    with closing(open_store(home)) as store:
        request = read_document(store, name, REQUEST, ComparisonRequest)
    contenders.check_whole(request.pair, name)
    check_elsewhere(on, need, {"--commit": [side.commit for side in request.pair if side.commit]})
    return _resumed(request, name, home, progress, executor(on, need))


def make_plan(request: ComparisonRequest, label: str, tags: Mapping[str, str] | None) -> Plan:
    return Plan(
        cases=tuple(contender.case for contender in request.pair),
        procedure=request.procedure,
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="ab",
    )


def _resumed(
    request: ComparisonRequest, name: str, home: Home, progress: ProgressCallback, machines: Where
) -> Iterator[Comparison]:
    with machines as nodes, resumed_run(name, home, nodes) as run:
        state = ComparisonState(request, name)
        for results in pairs_of(run.results()):
            state.add(PairResults(results, {}, ""))
        yield from _followed(request, state, run, progress)


def _followed(
    request: ComparisonRequest, state: ComparisonState, run: Run, progress: ProgressCallback
) -> Iterator[Comparison]:
    for comparison, _ in run.record(_pairs(request, state, run, progress)):
        run.save_document(COMPARISON, comparison)
        yield comparison


def _builder(command: str) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        if command:
            revisions.build(command, folder)

    return build


def _pairs(
    request: ComparisonRequest, state: ComparisonState, run: Run, progress: ProgressCallback
) -> Iterator[tuple[Comparison, Sequence[Result]]]:
    """The comparison after each pair, and the results of that pair."""
    context = PairContext(run.plan, request.procedure, request.terms.minimum, state.deadline)
    state.notes += shared_cache.notes(run.plan)
    comparison = state.comparison()
    with contenders.checked_out(request.pair, _builder(request.build)) as pair:
        while not comparison.ended:
            known = comparison.pairs
            spec = PairSpec(pair, state.pairs + 1, known, state.not_interleaved, state.first_pair())
            if run.elsewhere is None:
                results = take_pair(spec, context, run.new_case, progress)
            else:
                results = take_remote_pair(spec, context, run, progress)
            state.add(results)
            comparison = state.comparison()
            ended = why_ended(request, comparison, state)
            comparison = msgspec.structs.replace(comparison, ended=ended)
            yield comparison, results.results

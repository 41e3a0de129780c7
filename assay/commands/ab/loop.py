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
    pairs_from_results,
    take_pair,
    take_remote_pair,
)
from assay.commands.ab.request import check_remote
from assay.commands.ab.state import AbRequest, AbState, stop_reason
from assay.core.executor import Executor
from assay.core.progress import ProgressCallback
from assay.core.records import Plan, Result
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.measure import contenders, revisions, shared_cache
from assay.measure.machine.environment import safe_tags
from assay.measure.recorder import Recorder, check_resumable, new_run, reopen_run
from assay.measure.remote import executor
from assay.stats.paired_ratio import Comparison
from assay.stores.runs import COMPARISON, REQUEST, read_document

ExecutorContext = AbstractContextManager[Executor | None]


def compare_pairs(
    request: AbRequest,
    plan: Plan,
    home: Home,
    progress: ProgressCallback,
    machines: ExecutorContext,
) -> Iterator[Comparison]:
    """Start a comparison; yield its state after each pair."""
    with machines as nodes, new_run(plan, home, nodes) as run:
        safe = contenders.redact_pair(request.pair)
        run.save_document(REQUEST, msgspec.structs.replace(request, pair=safe))
        yield from _run_pairs(request, AbState(request, run.name), run, progress)


def resume_pairs(
    run: str,
    home: Home,
    progress: ProgressCallback,
    on: str,
    need: Mapping[str, str] | None,
) -> Iterator[Comparison]:
    """Continue a comparison that was interrupted or undecided, for its budget once more."""
    name = check_resumable(run, "ab", home)
    with closing(open_store(home)) as store:
        request = read_document(store, name, REQUEST, AbRequest)
    contenders.check_not_redacted(request.pair, name)
    check_remote(on, need, {"--commit": [side.commit for side in request.pair if side.commit]})
    return _resume_request(request, name, home, progress, executor(on, need))


def make_plan(request: AbRequest, label: str, tags: Mapping[str, str] | None) -> Plan:
    return Plan(
        cases=tuple(contender.case for contender in request.pair),
        procedure=request.procedure,
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="ab",
    )


def _resume_request(
    request: AbRequest, name: str, home: Home, progress: ProgressCallback, machines: ExecutorContext
) -> Iterator[Comparison]:
    with machines as nodes, reopen_run(name, home, nodes) as run:
        state = AbState(request, name)
        for results in pairs_from_results(run.results()):
            state.add(PairResults(results, {}, ""))
        yield from _run_pairs(request, state, run, progress)


def _run_pairs(
    request: AbRequest, state: AbState, run: Recorder, progress: ProgressCallback
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
    request: AbRequest, state: AbState, run: Recorder, progress: ProgressCallback
) -> Iterator[tuple[Comparison, Sequence[Result]]]:
    """The comparison after each pair, and the results of that pair."""
    context = PairContext(
        run.plan, request.procedure, request.terms.minimum, state.deadline, state.limit
    )
    state.notes += shared_cache.notes(run.plan)
    comparison = state.comparison()
    with contenders.check_out_pair(request.pair, _builder(request.build)) as pair:
        while not comparison.ended:
            known = comparison.pairs
            spec = PairSpec(pair, state.pairs + 1, known, state.not_interleaved, state.first_pair())
            if run.elsewhere is None:
                results = take_pair(spec, context, run.new_case, progress)
            else:
                results = take_remote_pair(spec, context, run, progress)
            state.add(results)
            comparison = state.comparison()
            ended = stop_reason(request, comparison, state)
            comparison = msgspec.structs.replace(comparison, ended=ended)
            yield comparison, results.results

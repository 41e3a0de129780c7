"""Why two results differ: what else differs between them, the likeliest reason first."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Annotated, Literal

import msgspec

from assay.cli import printing
from assay.cli.command import Keywords, click_command
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.findings import Output, Quantity, SummarizedResult, Table
from assay.core.options import Argument, Format, StoreUrl, accept_old_keywords
from assay.core.protobuf import DamagedError
from assay.core.records import SCHEMA, Query, Result
from assay.core.registry import open_store
from assay.core.units import human, percent_change
from assay.measure.sampling import TRACE
from assay.measure.source import text_path
from assay.stats import stored_summary
from assay.stats.causes import Cause
from assay.stats.paired_ratio import MIN_EFFECT

MAX_OPERATIONS = 10  # operations, those that changed most
MAX_DIFF_LINES = 60  # of one file
_MIN_CHANGE = 0.001  # as a share: numbers without an interval that differ by less are the same


@accept_old_keywords(home="store")
def explain(
    before: Annotated[str, Argument(complete="runs")],
    after: Annotated[str, Argument(complete="runs")],
    store: StoreUrl = None,
) -> Explanation:
    """Compare two stored results: RUN/001, or a run of one result.

    >>> for cause in assay.explain("k3fq", "last").changed[:3]:
    ...     print(cause.kind, cause.what, cause.before, cause.after, cause.why, cause.proof)
    """
    from assay.stats.causes import differences

    with closing(open_store(store)) as results:
        first, second = (_single_result(results, text) for text in (before, after))
        if first.result.id == second.result.id:
            raise UsageError(
                f"Both are {first.result.id}.", hint="Name two results, as in last/1 last/2."
            )
        operations = tuple(_operations(results, first, second))
        diffs = tuple(_diffs(results, first.result, second.result))
    changed = tuple(differences(first.result, second.result))
    return Explanation(
        before=first.result.id,
        after=second.result.id,
        keys=(first.result.case.key, second.result.case.key),
        metrics=tuple(_metrics(first.summary.quantities, second.summary.quantities)),
        changed=changed,
        operations=operations,
        diffs=diffs,
        notes=_notes(first, second, bool(changed)),
    )


def _diffs(store: Store, before: Result, after: Result) -> Iterator[str]:
    """Of each edited source file whose text is stored on this machine for both."""
    first, second = before.known_source, after.known_source
    if first is None or second is None or first.identity != second.identity:
        return
    for name in sorted(first.files.keys() & second.files.keys()):
        digests = first.files[name], second.files[name]
        places = [text_path(store.home, digest) for digest in digests]
        if digests[0] == digests[1] or not all(place.is_file() for place in places):
            continue
        old, new = (place.read_text(errors="replace").splitlines() for place in places)
        first_name, second_name = (f"{name} ({result.id})" for result in (before, after))
        lines = list(difflib.unified_diff(old, new, first_name, second_name, n=1, lineterm=""))
        yield "\n".join(lines[:MAX_DIFF_LINES])


def _single_result(store: Store, text: str) -> SummarizedResult:
    results = list(store.results(Query(ids=(text,))))
    if len(results) != 1:
        what = "no readable result" if not results else f"{len(results)} results"
        raise UsageError(
            f"{text} has {what}, but explain needs exactly one.",
            hint=f"Choose one, as in {text}/1.",
        )
    return stored_summary.read(store, results[0])


def _metrics(
    before: Mapping[str, Quantity], after: Mapping[str, Quantity]
) -> Iterator[MetricChange]:
    for name in filter(after.__contains__, before):  # in the order of the summary
        first, second = before[name], after[name]
        if not first.value or first.unit != second.unit:
            continue
        ratio = second.value / first.value
        known = all(bound == bound for q in (first, second) for bound in (q.low, q.high))
        separate = abs(ratio - 1) > (MIN_EFFECT if known else _MIN_CHANGE) and not (
            known and first.low <= second.high and second.low <= first.high
        )
        yield MetricChange(
            metric=name,
            unit=first.unit,
            before=first.value,
            after=second.value,
            ratio=ratio,
            apart=separate,
        )


def _notes(first: SummarizedResult, second: SummarizedResult, different: bool) -> tuple[str, ...]:
    """Caveats: status, doubts, and no recorded difference."""
    notes = []
    for reading in (first, second):
        if reading.result.status != "ok":
            notes.append(f"{reading.result.id} ended as {reading.result.status}")
        notes += [f"{reading.result.id}: {doubt.text}" for doubt in reading.summary.doubts]
    if not different:
        notes.append(
            "nothing that assay records differs: it may be noise between processes; "
            f"assay ab '{second.result.case.key}' --aa shows how large that is"
        )
    return tuple(notes)


def _operations(
    store: Store, first: SummarizedResult, second: SummarizedResult
) -> Iterator[OperationChange]:
    """If both were profiled: time of each operation, largest change first."""
    times = [_read_profile(store, reading) for reading in (first, second)]
    if not all(times):
        return
    before, after = times
    names = sorted(
        {*before, *after}, key=lambda name: -abs(after.get(name, 0.0) - before.get(name, 0.0))
    )
    for name in names[:MAX_OPERATIONS]:
        yield OperationChange(name=name, before=before.get(name, 0.0), after=after.get(name, 0.0))


def _read_profile(store: Store, reading: SummarizedResult) -> dict[str, float]:
    from assay.formats.traces import read as traces
    from assay.formats.traces.operations import operations

    result = reading.result
    trace = store.folder(result.id) / TRACE
    if not trace.is_dir():
        return {}
    steps = max(result.procedure.samples, 1)
    try:
        profiled = operations(traces.events(trace))
    except DamagedError:
        return {}
    times: dict[str, float] = {}
    for operation in profiled:
        times[operation.name] = times.get(operation.name, 0.0) + operation.seconds / steps
    return times


MAIN = ("step_time", "throughput", "wall_time", "first_step", "open_time", "accuracy")


def output(explanation: Explanation) -> Output:
    tables = [_metrics_table(explanation), _reasons(explanation)]
    if explanation.diffs:
        rows = [(line,) for diff in explanation.diffs for line in diff.splitlines()]
        tables.append(Table(title="Edited source", columns=("line",), rows=tuple(rows)))
    if explanation.operations:
        tables.append(_operations_table(explanation))
    return Output(tables=tuple(tables), document=msgspec.to_builtins(explanation))


def _metrics_table(explanation: Explanation) -> Table:
    shown = sorted(explanation.metrics, key=_rank)
    return Table(
        title=f"{explanation.after} after {explanation.before}",
        columns=("metric", "before", "after", "change", ""),
        rows=tuple(
            (
                row.metric,
                human(row.before, row.unit),
                human(row.after, row.unit),
                percent_change(row.ratio),
                "differs" if row.apart else "intervals overlap",
            )
            for row in shown
        ),
        numeric=frozenset({"before", "after", "change"}),
    )


def _reasons(explanation: Explanation) -> Table:
    known = sum(bool(difference.why) for difference in explanation.changed)
    return Table(
        title=f"{len(explanation.changed)} differences, {known} of a kind that is known to matter",
        columns=("what", "before", "after", "known to matter", "what would prove it"),
        rows=tuple(
            (
                _name(difference),
                difference.before or "—",
                difference.after or "—",
                difference.why,
                difference.proof,
            )
            for difference in explanation.changed
        ),
        spare=("what would prove it",),
        notes=(*_proof(explanation), *explanation.notes),
    )


def _operations_table(explanation: Explanation) -> Table:
    return Table(
        title="Operations that changed most, seconds of a step",
        columns=("operation", "before", "after"),
        rows=tuple(
            (operation.name, human(operation.before, "s"), human(operation.after, "s"))
            for operation in explanation.operations
        ),
        numeric=frozenset({"before", "after"}),
        shortened=frozenset({"operation"}),
    )


def _proof(explanation: Explanation) -> list[str]:
    best = next(
        (difference for difference in explanation.changed if difference.why and difference.proof),
        None,
    )
    return [f"the likeliest is {_name(best)}; to prove it: {best.proof}"] if best else []


def _rank(row: MetricChange) -> tuple[int, str]:
    return (MAIN.index(row.metric) if row.metric in MAIN else len(MAIN), row.metric)


def _name(difference: Cause) -> str:
    return (
        difference.what
        if difference.what == difference.kind
        else f"{difference.kind} {difference.what}"
    )


@click_command(
    explain,
    epilog="""\b
Examples:
  assay explain k3fq last                    two runs of one result each
  assay explain last/1 last/2 --format json""",
)
def command(keywords: Keywords, format: Format = "text") -> int:
    """Explain why result AFTER differs from result BEFORE.

    Differences of environment, packages, flags, clocks, neighbours' load and, where both were
    profiled, of operations: the likeliest reason first, with the comparison that would prove it.
    """
    printing.show(output(explain(**keywords)), format)
    return 0


class MetricChange(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity of two results; the ratio is second over first."""

    metric: str
    unit: str
    before: float
    after: float
    ratio: float
    apart: bool  # whether their intervals do not touch


class OperationChange(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation of a profiled model took in each of two traces."""

    name: str
    before: float  # seconds of a step
    after: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why two results may differ: what differs beside the numbers, likeliest first."""

    before: str  # ids
    after: str
    keys: tuple[str, str]
    metrics: tuple[MetricChange, ...]
    changed: tuple[Cause, ...]
    operations: tuple[OperationChange, ...] = ()
    diffs: tuple[str, ...] = ()  # of edited source files, if both texts are stored here
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    kind: Literal["explanation"] = "explanation"

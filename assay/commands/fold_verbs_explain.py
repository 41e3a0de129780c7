"""Why two results differ: what else differs between them, the likeliest reason first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing

from assay.core.changes import Explanation, MetricChange, OperationChange
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.findings import Quantity, Reading
from assay.core.protobuf import DamagedError
from assay.core.records import Query
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.measure.case import TRACE
from assay.stats import stored_summary

SHOWN = 10  # operations, those that changed most
_APART = 0.001  # as a share: numbers without an interval that differ by less are the same


def explain(before: str, after: str, home: Home = None) -> Explanation:
    """Compare two kept results: RUN/NNN, or a run of one result.

    >>> for one in assay.explain("k3fq", "last").changed[:3]:
    ...     print(one.kind, one.what, one.before, one.after, one.why, one.proof)
    """
    from assay.stats.causes import differences

    with closing(open_store(home)) as store:
        first, second = (_only(store, text) for text in (before, after))
        if first.result.id == second.result.id:
            raise UsageError(
                f"Both are {first.result.id}.", hint="Name two results, as in last/1 last/2."
            )
        operations = tuple(_operations(store, first, second))
    changed = tuple(differences(first.result, second.result))
    return Explanation(
        before=first.result.id,
        after=second.result.id,
        keys=(first.result.case.key, second.result.case.key),
        metrics=tuple(_metrics(first.summary.quantities, second.summary.quantities)),
        changed=changed,
        operations=operations,
        notes=_notes(first, second, bool(changed)),
    )


def _only(store: Store, text: str) -> Reading:
    found = list(store.results(Query(ids=(text,))))
    if len(found) != 1:
        what = "no readable result" if not found else f"{len(found)} results"
        raise UsageError(
            f"{text} has {what}, but one is explained.", hint=f"Choose one, as in {text}/1."
        )
    return stored_summary.read(store, found[0])


def _metrics(
    before: Mapping[str, Quantity], after: Mapping[str, Quantity]
) -> Iterator[MetricChange]:
    for name in filter(after.__contains__, before):  # in the order of the summary
        one, other = before[name], after[name]
        if not one.value or one.unit != other.unit:
            continue
        ratio = other.value / one.value
        known = all(bound == bound for q in (one, other) for bound in (q.low, q.high))
        apart = (other.low > one.high or other.high < one.low) if known else abs(ratio - 1) > _APART
        yield MetricChange(
            metric=name,
            unit=one.unit,
            before=one.value,
            after=other.value,
            ratio=ratio,
            apart=apart,
        )


def _notes(first: Reading, second: Reading, different: bool) -> tuple[str, ...]:
    """What a reader must know before believing any of it."""
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


def _operations(store: Store, first: Reading, second: Reading) -> Iterator[OperationChange]:
    """Where both were profiled: what each operation took, those that changed most first."""
    times = [_profiled(store, reading) for reading in (first, second)]
    if not all(times):
        return
    one, other = times
    names = sorted({*one, *other}, key=lambda name: -abs(other.get(name, 0.0) - one.get(name, 0.0)))
    for name in names[:SHOWN]:
        yield OperationChange(name=name, before=one.get(name, 0.0), after=other.get(name, 0.0))


def _profiled(store: Store, reading: Reading) -> dict[str, float]:
    from assay.formats.traces import read as traces
    from assay.formats.traces.operations import operations

    result = reading.result
    place = store.folder(result.id) / TRACE
    if not place.is_dir():
        return {}
    steps = max(result.procedure.samples, 1)
    try:
        found = operations(traces.events(place))
    except DamagedError:
        return {}
    times: dict[str, float] = {}
    for one in found:
        times[one.name] = times.get(one.name, 0.0) + one.seconds / steps
    return times

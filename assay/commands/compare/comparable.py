"""Whether two results are comparable: differences of the work, and other differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from assay.core.records import Result
from assay.core.series import StoredPoint

_MACHINE = ("cpu", "cpus", "gpus", "gpu0", "driver", "memory")
_MAX_LISTED = 6  # packages that are named
_AMOUNT = ("batch_size", "precision", "dtype")  # facts or options that say how much work it is


class Comparability(NamedTuple):
    """Mismatches, each as a sentence."""

    refused: list[str]  # different work: a ratio is meaningless
    noted: list[str]  # possible causes of a difference


def mismatches(first: Result, second: Result) -> Comparability:
    """Compares only what both report: other tools report little."""
    return Comparability(
        list(_work_mismatches(first, second)), list(_machine_mismatches(first, second))
    )


def point_mismatches(first: StoredPoint, second: StoredPoint) -> Comparability:
    """As far as the index knows: no packages, no host."""
    before, after = first.series, second.series
    chosen = {name: value for name, value in before.options.items() if name not in _AMOUNT}
    refused = [
        *_describe_change("repository and file", before.source, after.source),
        *_describe_change("version of the workload", before.version, after.version),
        *_compare_mappings("parameter", before.params, after.params),
        *(
            words
            for name in _AMOUNT
            for words in _describe_change(name, before.options.get(name), after.options.get(name))
        ),
    ]
    noted = [
        *_describe_change("machine", before.machine, after.machine),
        *_compare_mappings("option", chosen, after.options),
        *_describe_change("commit", first.point.commit[:12], second.point.commit[:12]),
    ]
    return Comparability(refused, noted)


def _work_mismatches(first: Result, second: Result) -> Iterator[str]:
    sources = [each.identity if (each := r.known_source) else "" for r in (first, second)]
    yield from _describe_change("repository and file", *sources)
    yield from _describe_change(
        "version of the workload", first.workload_version, second.workload_version
    )
    yield from _compare_mappings("parameter", first.case.params, second.case.params)
    for name in _AMOUNT:
        yield from _describe_change(
            name, _option_or_fact(first, name), _option_or_fact(second, name)
        )
    yield from _describe_change("items of a step", first.items, second.items)


def _machine_mismatches(first: Result, second: Result) -> Iterator[str]:
    before, after = first.environment, second.environment
    yield from _describe_change("host", before.system.get("hostname"), after.system.get("hostname"))
    for name in _MACHINE:
        yield from _describe_change(name, before.machine.get(name), after.machine.get(name))
    yield from _describe_change("device", first.facts.get("device"), second.facts.get("device"))
    yield from _describe_change("Python", before.python.get("version"), after.python.get("version"))
    changed = list(_compare_mappings("", before.packages, after.packages))
    yield from changed[:_MAX_LISTED]
    if len(changed) > _MAX_LISTED:
        yield f"{len(changed) - _MAX_LISTED} more packages"
    chosen = {n: v for n, v in first.case.options.items() if n not in _AMOUNT}
    yield from _compare_mappings("option", chosen, second.case.options)
    yield from _describe_change("commit", _commit(first), _commit(second))
    yield from _describe_change(
        "latency (one step a sample)", str(first.procedure.latency), str(second.procedure.latency)
    )


def _compare_mappings(
    what: str, first: Mapping[str, object], second: Mapping[str, object]
) -> Iterator[str]:
    for name in first:
        if name in second:
            yield from _describe_change(f"{what} {name}".strip(), first[name], second[name])


def _describe_change(what: str, first: object, second: object) -> Iterator[str]:
    """Nothing if one side does not report it."""
    if first in (None, "", 0) or second in (None, "", 0):
        return
    if str(first) != str(second):
        yield f"{what}: {first} → {second}"


def _option_or_fact(result: Result, name: str) -> object:
    return result.case.options.get(name, result.facts.get(name))


def _commit(result: Result) -> str:
    git = result.environment.git
    commit = str(git.get("commit", ""))[:12]
    return f"{commit} with edits" if commit and git.get("dirty") else commit

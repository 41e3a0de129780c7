"""Whether two results are comparable: differences of the work, and other differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from assay.core.records import Result
from assay.core.series import KeptPoint

_MACHINE = ("cpu", "cpus", "gpus", "gpu0", "driver", "memory")
_MOST = 6  # packages that are named
_AMOUNT = ("batch_size", "precision", "dtype")  # facts or options that say how much work it is


class Unlike(NamedTuple):
    """Mismatches, each as a sentence."""

    refused: list[str]  # different work: a ratio is meaningless
    noted: list[str]  # possible causes of a difference


def unlike(first: Result, second: Result) -> Unlike:
    """Compares only what both report: other tools report little."""
    return Unlike(list(_other_work(first, second)), list(_other_place(first, second)))


def unlike_points(first: KeptPoint, second: KeptPoint) -> Unlike:
    """As far as the index knows: no packages, no host."""
    before, after = first.series, second.series
    chosen = {name: value for name, value in before.options.items() if name not in _AMOUNT}
    refused = [
        *_changed("version of the workload", before.version, after.version),
        *_each("parameter", before.params, after.params),
        *(
            words
            for name in _AMOUNT
            for words in _changed(name, before.options.get(name), after.options.get(name))
        ),
    ]
    noted = [
        *_changed("machine", before.machine, after.machine),
        *_each("option", chosen, after.options),
        *_changed("commit", first.point.commit[:12], second.point.commit[:12]),
    ]
    return Unlike(refused, noted)


def _other_work(first: Result, second: Result) -> Iterator[str]:
    yield from _changed("version of the workload", first.workload_version, second.workload_version)
    yield from _each("parameter", first.case.params, second.case.params)
    for name in _AMOUNT:
        yield from _changed(name, _told(first, name), _told(second, name))
    yield from _changed("items of a step", first.items, second.items)


def _other_place(first: Result, second: Result) -> Iterator[str]:
    before, after = first.environment, second.environment
    yield from _changed("host", before.system.get("hostname"), after.system.get("hostname"))
    for name in _MACHINE:
        yield from _changed(name, before.machine.get(name), after.machine.get(name))
    yield from _changed("device", first.facts.get("device"), second.facts.get("device"))
    yield from _changed("Python", before.python.get("version"), after.python.get("version"))
    changed = list(_each("", before.packages, after.packages))
    yield from changed[:_MOST]
    if len(changed) > _MOST:
        yield f"{len(changed) - _MOST} more packages"
    chosen = {n: v for n, v in first.case.options.items() if n not in _AMOUNT}
    yield from _each("option", chosen, second.case.options)
    yield from _changed("commit", _commit(first), _commit(second))
    yield from _changed(
        "latency (one step a sample)", str(first.procedure.latency), str(second.procedure.latency)
    )


def _each(what: str, first: Mapping[str, object], second: Mapping[str, object]) -> Iterator[str]:
    for name in first:
        if name in second:
            yield from _changed(f"{what} {name}".strip(), first[name], second[name])


def _changed(what: str, first: object, second: object) -> Iterator[str]:
    """Nothing if one side does not report it."""
    if first in (None, "", 0) or second in (None, "", 0):
        return
    if str(first) != str(second):
        yield f"{what}: {first} → {second}"


def _told(result: Result, name: str) -> object:
    return result.case.options.get(name, result.facts.get(name))


def _commit(result: Result) -> str:
    git = result.environment.git
    commit = str(git.get("commit", ""))[:12]
    return f"{commit} with edits" if commit and git.get("dirty") else commit

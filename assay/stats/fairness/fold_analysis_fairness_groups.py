"""Contenders: results of one workload with the same parameters; and how they are spoken of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

import msgspec

from assay.core.findings import Unlikeness
from assay.core.records import Result, Value

MOST_NAMES = 4  # contenders that are named one by one


class Group(msgspec.Struct, frozen=True):
    """Contenders that can be compared."""

    workload: str  # with its parameters, as in the key of a case
    results: tuple[Result, ...]

    def names(self, some: Sequence[Result]) -> str:
        """By backend and options alone: the workload is the same for all."""
        names = list(dict.fromkeys(result.case.key.rpartition("@")[2] for result in some))
        if len(names) > MOST_NAMES:
            return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"
        return ", ".join(names)


def grouped(results: Iterable[Result]) -> list[Group]:
    """By workload and all its parameters; a result that never opened has nothing to compare."""
    found: dict[Hashable, list[Result]] = defaultdict(list)
    for result in results:
        if result.facts:
            found[(result.case.workload, *sorted(result.case.params.items()))].append(result)
    return [Group(some[0].case.key.rpartition("@")[0], tuple(some)) for some in found.values()]


def by_value(
    results: Iterable[Result], value: Callable[[Result], Hashable]
) -> list[tuple[Result, ...]]:
    """Results with equal values together, the most frequent value first."""
    found: dict[Hashable, list[Result]] = defaultdict(list)
    for result in results:
        found[value(result)].append(result)
    return sorted(map(tuple, found.values()), key=lambda same: -len(same))


def unlike(group: Group, what: str, text: str, unfair: bool = True) -> Unlikeness:
    return Unlikeness(workload=group.workload, what=what, text=text, unfair=unfair)


def said(value: Value | None) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)

"""What each option gains: readings that differ in one thing only, compared."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from assay.core.findings import Reading, Table
from assay.core.records import Value

Setting = tuple[str, Value]


class OptionEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Changing one setting from one value to another, over all pairs that differ in it alone."""

    setting: str
    before: Value
    after: Value
    ratios: tuple[float, ...]  # time of an item after, over that before

    @property
    def ratio(self) -> float:
        """The geometric mean, the one mean that does not depend on the direction."""
        return math.exp(sum(math.log(ratio) for ratio in self.ratios) / len(self.ratios))


def option_effects(readings: Sequence[Reading]) -> list[OptionEffect]:
    """Every change of one setting that was measured, the greatest effect first."""
    ratios: dict[tuple[str, Value, Value], list[float]] = defaultdict(list)
    for one, other in itertools.combinations([r for r in readings if _time(r)], 2):
        difference = _only_difference(one, other)
        if difference:
            name, before, after = difference
            ratio = _time(other) / _time(one)
            if (name, after, before) in ratios:  # one direction an option, that met first
                ratios[(name, after, before)].append(1 / ratio)
            else:
                ratios[(name, before, after)].append(ratio)
    found = [
        OptionEffect(setting=name, before=before, after=after, ratios=tuple(values))
        for (name, before, after), values in ratios.items()
    ]
    return sorted(found, key=lambda purchase: -abs(math.log(purchase.ratio)))


def effects_table(purchases: Sequence[OptionEffect]) -> Table:
    return Table(
        columns=("option", "from", "to", "time becomes", "lowest", "highest", "pairs"),
        rows=tuple(
            (
                *(p.setting, str(p.before), str(p.after), f"x {p.ratio:.2f}"),
                *(f"{min(p.ratios):.2f}", f"{max(p.ratios):.2f}", str(len(p.ratios))),
            )
            for p in purchases
        ),
        numeric=frozenset({"time becomes", "lowest", "highest", "pairs"}),
        title="What each option gains, all else equal",
    )


def _only_difference(one: Reading, other: Reading) -> tuple[str, Value, Value] | None:
    """The single setting in which two cases differ; None if they differ in none or in more."""
    mine, theirs = dict(_settings(one)), dict(_settings(other))
    if mine.keys() != theirs.keys():
        return None
    differing = [name for name in mine if mine[name] != theirs[name]]
    if len(differing) != 1:
        return None
    return differing[0], mine[differing[0]], theirs[differing[0]]


def _settings(reading: Reading) -> Iterator[Setting]:
    case = reading.result.case
    yield "workload", case.workload
    yield "backend", case.backend
    yield from case.params.items()
    yield from case.options.items()


def _time(reading: Reading) -> float:
    """Seconds for one item, so that batch sizes can be compared; 0 where nothing was measured."""
    step = reading.summary.quantities.get("step_time")
    return step.value / max(1, reading.result.items) if step else 0.0

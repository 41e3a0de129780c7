"""Effects of options: comparison of results that differ in one setting."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from assay.core.findings import SummarizedResult, Table
from assay.core.records import Value

Setting = tuple[str, Value]


class OptionEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Effect of changing one setting, over all pairs that differ in it only."""

    setting: str
    before: Value
    after: Value
    ratios: tuple[float, ...]  # time per item after / before

    @property
    def ratio(self) -> float:
        """Geometric mean, which does not depend on the direction."""
        return math.exp(sum(math.log(ratio) for ratio in self.ratios) / len(self.ratios))


def option_effects(readings: Sequence[SummarizedResult]) -> list[OptionEffect]:
    """Effects of all measured changes, the largest first."""
    ratios: dict[tuple[str, Value, Value], list[float]] = defaultdict(list)
    for first, second in itertools.combinations([r for r in readings if _time(r)], 2):
        difference = _only_difference(first, second)
        if difference:
            name, before, after = difference
            ratio = _time(second) / _time(first)
            if (name, after, before) in ratios:  # one direction per option, the first seen
                ratios[(name, after, before)].append(1 / ratio)
            else:
                ratios[(name, before, after)].append(ratio)
    effects = [
        OptionEffect(setting=name, before=before, after=after, ratios=tuple(values))
        for (name, before, after), values in ratios.items()
    ]
    return sorted(effects, key=lambda effect: -abs(math.log(effect.ratio)))


def effects_table(effects: Sequence[OptionEffect]) -> Table:
    return Table(
        columns=("option", "from", "to", "time becomes", "lowest", "highest", "pairs"),
        rows=tuple(
            (
                *(effect.setting, str(effect.before), str(effect.after), f"x {effect.ratio:.2f}"),
                *(
                    f"{min(effect.ratios):.2f}",
                    f"{max(effect.ratios):.2f}",
                    str(len(effect.ratios)),
                ),
            )
            for effect in effects
        ),
        numeric=frozenset({"time becomes", "lowest", "highest", "pairs"}),
        title="What each option gains, all else equal",
    )


def _only_difference(
    first: SummarizedResult, second: SummarizedResult
) -> tuple[str, Value, Value] | None:
    """The single setting in which two cases differ, or None."""
    first_settings, second_settings = dict(_settings(first)), dict(_settings(second))
    if first_settings.keys() != second_settings.keys():
        return None
    differing = [name for name in first_settings if first_settings[name] != second_settings[name]]
    if len(differing) != 1:
        return None
    return differing[0], first_settings[differing[0]], second_settings[differing[0]]


def _settings(reading: SummarizedResult) -> Iterator[Setting]:
    case = reading.result.case
    yield "workload", case.workload
    yield "backend", case.backend
    yield from case.params.items()
    yield from case.options.items()


def _time(reading: SummarizedResult) -> float:
    """Seconds per item, so that batch sizes can be compared; 0 if not measured."""
    step = reading.summary.quantities.get("step_time")
    return step.value / max(1, reading.result.items) if step else 0.0

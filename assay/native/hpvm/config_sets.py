"""Configurations beside each other, and beside the network they are for."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from assay.core.errors import UsageError
from assay.native.hpvm.configs import ConfigFile, ConfigLine, Configuration, KnobChoice
from assay.native.hpvm.dataflow import Dataflow, Leaf, fused_lines
from assay.native.hpvm.knobs import explained, simulated

TIE = 0.01  # points of accuracy: what loses no more than that beside another loses the same
Gain = Literal["speedup", "energy"]


def baseline(flow: Dataflow, accuracy: float = 100.0, device: str = "gpu") -> Configuration:
    """Everything at full precision: what a file has to begin with."""
    lines = tuple(
        ConfigLine(
            number=number,
            device=device,
            choices=tuple(KnobChoice(leaf.op, "fp32", 1) for leaf in line),
        )
        for number, line in enumerate(fused_lines(flow), 1)
    )
    return Configuration(name="conf1", accuracy=accuracy, lines=lines)


def chosen(configs: ConfigFile, name: str = "") -> Configuration:
    """The one of that name; without a name the only one that a file has beside its exact one.

    Programs do the same: `read` in runtime/configuration.hpp.
    """
    known = [each.name for each in configs.configurations]
    if name and name not in known:
        raise UsageError(
            f"{configs.place} has no configuration named '{name}'.", hint=f"It has {_some(known)}."
        )
    if name:
        return configs.configurations[known.index(name)]
    others = [each for each in configs.configurations if not each.exact]
    if len(others) > 1:
        raise UsageError(
            f"{configs.place} has {len(others)} configurations that are not exact, "
            f"{_some([each.name for each in others])}, and none is named.",
            hint=f"Name one: {configs.place}:{others[-1].name}",
        )
    return (others or configs.configurations)[0]


def check_fit(configs: ConfigFile, flow: Dataflow) -> None:
    """Every configuration has the network's lines, each with its operations; or which has not."""
    lines = fused_lines(flow)
    for each in configs.configurations:
        for line, leaves in zip(each.lines, lines, strict=False):
            if not _fits(line, leaves):
                wanted = " ".join(leaf.op for leaf in leaves)
                raise _wrong(
                    configs,
                    line.where,
                    f"line {line.number} of {flow.name} is '{wanted}', not '{' '.join(line.ops)}'",
                )
        if len(each.lines) != len(lines):
            raise _wrong(
                configs,
                each.lines[-1].where,
                f"{each.name} has {len(each.lines)} lines, but {flow.name} has {len(lines)}",
            )


def _fits(line: ConfigLine, leaves: tuple[Leaf, ...]) -> bool:
    if line.device == "promise" and line.ops == ("",):
        return leaves[0].op in ("conv", "mul")
    return line.ops == tuple(leaf.op for leaf in leaves)


def remarks(configs: ConfigFile) -> tuple[str, ...]:
    """What is no mistake, but worth knowing."""
    found = []
    first = configs.configurations[0]
    if not first.exact:
        found.append(f"{first.name} comes first, but is not exact: HPVM takes it for the baseline")
    names = Counter(each.name for each in configs.configurations)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        found.append(f"{', '.join(twice)}: the same name more than once")
    off = [
        each.name
        for each in configs.configurations
        if abs(each.accuracy + each.loss - first.accuracy) > 0.025  # HPVM's profiler rejects these
    ]
    if off:
        found.append(
            f"{_some(off)}: accuracy and loss do not add up to {first.name}'s {first.accuracy:g}"
        )
    lines = [line for each in configs.configurations for line in each.lines]
    if any(line.device == "gpu" for line in lines):
        found.append("lines for the gpu run on the CPU here, as those for the cpu do")
    half = [line for line in lines if line.device == "cpu" and _half(line)]
    if half:
        found.append(f"line {half[0].where} is half precision on the cpu, which HPVM never reads")
    if kinds := simulated(choice.kind for line in lines for choice in line.choices):
        found.append(f"{', '.join(kinds)}: simulated here, so that nothing is quicker")
    if any(_half(line) for line in lines):
        found.append("half precision is emulated here: weights are rounded, and nothing is quicker")
    return tuple(found)


def _half(line: ConfigLine) -> bool:
    return any(choice.kind.endswith("fp16") for choice in line.choices)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def pareto(configs: ConfigFile, gain: Gain = "speedup") -> ConfigFile:
    """The baseline, and every configuration that gains more than all that lose less or the same.

    By rising loss, as HPVM's runtime sorts them; of those within TIE of each other the best.
    """
    first, *others = configs.configurations
    kept: list[Configuration] = []
    for each in sorted(others, key=lambda one: (one.loss, -getattr(one, gain))):
        best = getattr(kept[-1] if kept else first, gain)
        if getattr(each, gain) <= best:
            continue
        if kept and each.loss - kept[-1].loss <= TIE:
            kept.pop()
        kept.append(each)
    return msgspec.structs.replace(configs, configurations=(first, *kept))


def summary(configuration: Configuration) -> str:
    """How many operations have which knob: `fp16 12, perf 3`."""
    counts = Counter(choice.kind for line in configuration.lines for choice in line.choices)
    return ", ".join(f"{kind} {count}" for kind, count in counts.most_common())


def in_words(line: ConfigLine) -> str:
    return "; ".join(
        f"{choice.op}: {explained(choice.kind, choice.knob)}".removeprefix(": ")
        for choice in line.choices
    )


def _wrong(configs: ConfigFile, where: int, what: str) -> UsageError:
    return UsageError(
        f"{configs.place}, line {where}: {what}.", hint="Is it a file of another network?"
    )

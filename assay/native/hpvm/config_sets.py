"""Select, check and compare configurations."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from assay.core.errors import UsageError
from assay.native.hpvm.configs import ConfigFile, ConfigLine, Configuration, KnobChoice
from assay.native.hpvm.dataflow import Dataflow, Leaf, fused_lines
from assay.native.hpvm.knobs import describe_knob, simulated_kinds

TIE = 0.01  # points of accuracy; smaller differences of loss are ties
Gain = Literal["speedup", "energy"]


def baseline(flow: Dataflow, accuracy: float = 100.0, device: str = "gpu") -> Configuration:
    """The configuration of full precision, which must be the first of a file."""
    lines = tuple(
        ConfigLine(
            number=number,
            device=device,
            choices=tuple(KnobChoice(leaf.op, "fp32", 1) for leaf in line),
        )
        for number, line in enumerate(fused_lines(flow), 1)
    )
    return Configuration(name="conf1", accuracy=accuracy, lines=lines)


def select_config(configs: ConfigFile, name: str = "") -> Configuration:
    """The configuration of that name; without a name, the only inexact one.

    `read` in runtime/configuration.hpp does the same for programs.
    """
    names = [config.name for config in configs.configurations]
    if name and name not in names:
        raise UsageError(
            f"{configs.place} has no configuration named '{name}'.",
            hint=f"It has {_join_names(names)}.",
        )
    if name:
        return configs.configurations[names.index(name)]
    others = [config for config in configs.configurations if not config.exact]
    if len(others) > 1:
        raise UsageError(
            f"{configs.place} has {len(others)} configurations that are not exact, "
            f"{_join_names([config.name for config in others])}, and none is named.",
            hint=f"Name one: {configs.place}:{others[-1].name}",
        )
    return (others or configs.configurations)[0]


def check_fit(configs: ConfigFile, flow: Dataflow) -> None:
    """Raise unless every configuration has the network's lines with their operations."""
    lines = fused_lines(flow)
    for config in configs.configurations:
        for line, leaves in zip(config.lines, lines, strict=False):
            if not _fits(line, leaves):
                ops, expected = " ".join(line.ops), " ".join(leaf.op for leaf in leaves)
                what = f"line {line.number} of {flow.name} is '{expected}', not '{ops}'"
                raise _config_error(configs, line.where, what)
        if len(config.lines) != len(lines):
            raise _config_error(
                configs,
                config.lines[-1].where,
                f"{config.name} has {len(config.lines)} lines, but {flow.name} has {len(lines)}",
            )


def _fits(line: ConfigLine, leaves: tuple[Leaf, ...]) -> bool:
    if line.device == "promise" and line.ops == ("",):
        return leaves[0].op in ("conv", "mul")
    return line.ops == tuple(leaf.op for leaf in leaves)


def remarks(configs: ConfigFile) -> tuple[str, ...]:
    """Notes on a valid file."""
    notes = []
    first = configs.configurations[0]
    if not first.exact:
        notes.append(f"{first.name} comes first, but is not exact: HPVM takes it for the baseline")
    names = Counter(config.name for config in configs.configurations)
    duplicates = [name for name, count in names.items() if count > 1]
    if duplicates:
        notes.append(f"{', '.join(duplicates)}: duplicate name")
    off = [
        config.name
        for config in configs.configurations
        if abs(config.accuracy + config.loss - first.accuracy)
        > 0.025  # HPVM's profiler rejects these
    ]
    if off:
        notes.append(
            f"{_join_names(off)}: accuracy and loss do not add up to "
            f"{first.name}'s {first.accuracy:g}"
        )
    lines = [line for config in configs.configurations for line in config.lines]
    if any(line.device == "gpu" for line in lines):
        notes.append("lines for the gpu run on the CPU here, as those for the cpu do")
    half_lines = [line for line in lines if line.device == "cpu" and _has_half(line)]
    if half_lines:
        notes.append(
            f"line {half_lines[0].where} is half precision on the cpu, which HPVM never reads"
        )
    if kinds := simulated_kinds(choice.kind for line in lines for choice in line.choices):
        notes.append(f"{', '.join(kinds)}: simulated here, without speed-up")
    if any(_has_half(line) for line in lines):
        notes.append("half precision is emulated here: weights are rounded, without speed-up")
    return tuple(notes)


def _has_half(line: ConfigLine) -> bool:
    return any(choice.kind.endswith("fp16") for choice in line.choices)


def _join_names(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def pareto(configs: ConfigFile, gain: Gain = "speedup") -> ConfigFile:
    """The baseline and the Pareto front of gain and loss.

    Sorted by rising loss, as in HPVM's runtime; of configurations within TIE, the best.
    """
    first, *others = configs.configurations
    best: list[Configuration] = []
    for config in sorted(others, key=lambda config: (config.loss, -getattr(config, gain))):
        previous = getattr(best[-1] if best else first, gain)
        if getattr(config, gain) <= previous:
            continue
        if best and config.loss - best[-1].loss <= TIE:
            best.pop()
        best.append(config)
    return msgspec.structs.replace(configs, configurations=(first, *best))


def summary(configuration: Configuration) -> str:
    """Number of operations by knob: `fp16 12, perf 3`."""
    counts = Counter(choice.kind for line in configuration.lines for choice in line.choices)
    return ", ".join(f"{kind} {count}" for kind, count in counts.most_common())


def describe_line(line: ConfigLine) -> str:
    return "; ".join(
        f"{choice.op}: {describe_knob(choice.kind, choice.knob)}".removeprefix(": ")
        for choice in line.choices
    )


def _config_error(configs: ConfigFile, where: int, what: str) -> UsageError:
    return UsageError(
        f"{configs.place}, line {where}: {what}.", hint="Is it a file of another network?"
    )

"""The knobs of a configuration file, for the layers of a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.core.errors import AssayError, NotPossibleError
from assay.native.graph import Graph
from assay.native.hpvm.config_sets import check_fit, chosen
from assay.native.hpvm.configs import (
    ConfigFile,
    ConfigLine,
    Configuration,
    KnobChoice,
    read_configs,
)
from assay.native.hpvm.dataflow import Dataflow, Leaf, fused_lines
from assay.native.hpvm.lowering import dataflow, with_softmax
from assay.native.knobs.apply import node_named
from assay.native.knobs.table import BASELINE, HALF, Knob, knob, why_not
from assay.native.passes.pipeline import optimized

COMPUTING, REDUCING = ("conv", "group_conv", "mul"), "pool_mean"


def knobs_in(graph: Graph, path: str | Path, name: str = "") -> dict[str, int]:
    """Of a captured model's layers; `name` is that of a configuration, "" the only inexact one."""
    configs = read_configs(path)
    wanted = chosen(configs, name)
    flow = dataflow(graph)
    if len(wanted.lines) == len(fused_lines(flow)) + 1:  # HPVM's networks end in a softmax
        flow = dataflow(with_softmax(graph))
    check_fit(configs, flow)
    return knobs_of(configs, wanted, flow, optimized(graph))


def knobs_of(
    configs: ConfigFile, wanted: Configuration, flow: Dataflow, graph: Graph
) -> dict[str, int]:
    """Of one configuration that fits; what the optimized graph cannot have is told with its line.

    Sums, activations and pools are as exact as what they follow: precision is not chosen for them.
    """
    found = {}
    for leaf, line, choice in _choices(flow, wanted):
        number = {"fp32": BASELINE, "fp16": HALF}.get(choice.kind, choice.knob)
        if leaf.op not in COMPUTING and number in (BASELINE, HALF):
            continue
        if why := _why_not(knob(number), leaf, graph):
            raise _wrong(configs, line, choice, f"cannot be had for {leaf.op}: {why}")
        found[leaf.node] = number
    return found


def _why_not(wanted: Knob, leaf: Leaf, graph: Graph) -> str:
    if leaf.op not in (*COMPUTING, REDUCING):
        return "it multiplies nothing"
    if (wanted.kind == "reduce") != (leaf.op == REDUCING):
        return "it takes no mean" if wanted.kind == "reduce" else "it multiplies nothing"
    return why_not(wanted, node_named(graph, leaf.node), graph)


def _choices(
    flow: Dataflow, wanted: Configuration
) -> Iterator[tuple[Leaf, ConfigLine, KnobChoice]]:
    for leaves, line in zip(fused_lines(flow), wanted.lines, strict=True):
        for leaf, choice in zip(leaves, line.choices, strict=False):  # promise: one for a line
            yield leaf, line, choice


def _wrong(configs: ConfigFile, line: ConfigLine, choice: KnobChoice, what: str) -> AssayError:
    return NotPossibleError(
        f"{configs.place}, line {line.where}: {choice.kind} {choice.knob} {what}.",
        hint="fp32 leaves the operation as it is.",
    )

"""Knobs by layer from a configuration file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.core.errors import AssayError, NotPossibleError
from assay.native.graph import Graph
from assay.native.hpvm.config_sets import check_fit, select_config
from assay.native.hpvm.configs import (
    ConfigFile,
    ConfigLine,
    Configuration,
    KnobChoice,
    read_configs,
)
from assay.native.hpvm.dataflow import Dataflow, Leaf, fused_lines
from assay.native.hpvm.lowering import dataflow, with_softmax
from assay.native.knobs.apply import find_node
from assay.native.knobs.calibration_file import has_items
from assay.native.knobs.table import BASELINE, HALF, Knob, corrected_id, knob, why_not
from assay.native.passes.pipeline import optimize

COMPUTING, REDUCING = ("conv", "group_conv", "mul"), "pool_mean"


def read_knobs(graph: Graph, path: str | Path, name: str = "") -> dict[str, int]:
    """Knobs by layer of a captured model; `name` is a configuration, "" the only inexact one.

    Before there were knobs for corrected samplings, `assay tune` wrote HPVM's ids and corrected
    them: next to calibration items they keep that meaning.
    """
    configs = read_configs(path)
    config = select_config(configs, name)
    flow = dataflow(graph)
    if len(config.lines) == len(fused_lines(flow)) + 1:  # HPVM's networks end in a softmax
        flow = dataflow(with_softmax(graph))
    check_fit(configs, flow)
    knobs = config_knobs(configs, config, flow, optimize(graph))
    return correct_samplings(knobs) if has_items(path) else knobs


def correct_samplings(knobs: Mapping[str, int]) -> dict[str, int]:
    """The same knobs with corrected weights in every sampling."""
    return {layer: corrected_id(number) for layer, number in knobs.items()}


def config_knobs(
    configs: ConfigFile, config: Configuration, flow: Dataflow, graph: Graph
) -> dict[str, int]:
    """Knobs by layer of one configuration; raises with its line where a knob does not fit.

    Sums, activations and pools have the precision of the layer before them.
    """
    knobs = {}
    for leaf, line, choice in _choices(flow, config):
        number = {"fp32": BASELINE, "fp16": HALF}.get(choice.kind, choice.knob)
        if leaf.op not in COMPUTING and number in (BASELINE, HALF):
            continue
        if reason := _why_not(knob(number), leaf, graph):
            raise _knob_error(configs, line, choice, f"does not fit {leaf.op}: {reason}")
        knobs[leaf.node] = number
    return knobs


def _why_not(choice: Knob, leaf: Leaf, graph: Graph) -> str:
    if leaf.op not in (*COMPUTING, REDUCING):
        return "it has no products"
    if (choice.kind == "reduce") != (leaf.op == REDUCING):
        return "it takes no mean" if choice.kind == "reduce" else "it has no products"
    return why_not(choice, find_node(graph, leaf.node), graph)


def _choices(
    flow: Dataflow, config: Configuration
) -> Iterator[tuple[Leaf, ConfigLine, KnobChoice]]:
    for leaves, line in zip(fused_lines(flow), config.lines, strict=True):
        for leaf, choice in zip(leaves, line.choices, strict=False):  # promise: one for a line
            yield leaf, line, choice


def _knob_error(configs: ConfigFile, line: ConfigLine, choice: KnobChoice, what: str) -> AssayError:
    return NotPossibleError(
        f"{configs.place}, line {line.where}: {choice.kind} {choice.knob} {what}.",
        hint="fp32 leaves the operation as it is.",
    )

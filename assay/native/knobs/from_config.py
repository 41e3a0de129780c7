"""The knobs of a configuration file, for the layers of a model."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import UsageError
from assay.native.graph import Graph
from assay.native.hpvm.config_sets import check_fit
from assay.native.hpvm.configs import ConfigLine, read_configs
from assay.native.hpvm.dataflow import fused_lines
from assay.native.hpvm.lowering import dataflow, with_softmax
from assay.native.knobs.table import BASELINE
from assay.native.ops import ConvOp, DenseOp

COMPUTING = ("conv", "group_conv", "mul")


def knobs_in(graph: Graph, path: str | Path, name: str = "") -> dict[str, int]:
    """Of a captured model's layers; `name` is that of a configuration, "" the file's last.

    The last is the quickest where a tuner wrote the file; the first is always the exact one.
    """
    configs = read_configs(path)
    named = {each.name: each for each in configs.configurations}
    if name and name not in named:
        raise UsageError(
            f"{path} has no configuration named '{name}'.", hint=f"It has {', '.join(named)}."
        )
    chosen = named[name] if name else configs.configurations[-1]
    flow = dataflow(graph)
    if len(chosen.lines) == len(fused_lines(flow)) + 1:  # HPVM's networks end in a softmax
        flow = dataflow(with_softmax(graph))
    check_fit(configs, flow)
    layers = [node.name for node in graph.nodes if isinstance(node.op, ConvOp | DenseOp)]
    leaves = [leaf.name for leaf in flow.leaves if leaf.op in COMPUTING]
    of_leaf = dict(zip(leaves, layers, strict=True))  # both stand in the model's order
    return {
        of_leaf[line[0].name]: _knob(held)
        for line, held in zip(fused_lines(flow), chosen.lines, strict=True)
        if line[0].name in of_leaf
    }


def _knob(line: ConfigLine) -> int:
    """That of the line's first operation: of sums and activations there is none to choose."""
    first = line.choices[0]
    return {"fp32": BASELINE, "fp16": 12}.get(first.kind, first.knob)

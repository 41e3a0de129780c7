"""Convert tuned points to a configuration file in HPVM's format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from assay.core.errors import UsageError
from assay.native.graph import Graph
from assay.native.hpvm.config_sets import baseline
from assay.native.hpvm.configs import ConfigFile, ConfigLine, Configuration, KnobChoice
from assay.native.hpvm.dataflow import Dataflow, fused_lines
from assay.native.hpvm.lowering import dataflow, with_softmax
from assay.native.kernels import find_layer
from assay.native.knobs.from_config import COMPUTING
from assay.native.knobs.table import BASELINE, knob
from assay.native.ops import ConvOp, DenseOp
from assay.native.passes.pipeline import optimize
from assay.native.tuner.records import TunedPoint


def make_tuned_configs(graph: Graph, points: Sequence[TunedPoint]) -> ConfigFile:
    """Configurations of a captured model in the points' order; the first is the exact one.

    Raises for a model with operations that HPVM does not have.
    """
    flow = dataflow(with_softmax(graph))
    layers = _layers(graph, flow)
    exact = baseline(flow, device="cpu")
    return ConfigFile(
        baseline=points[0].seconds,
        configurations=tuple(_configuration(exact, flow, point, layers) for point in points),
    )


def unsupported_reason(graph: Graph) -> str:
    """Why a model cannot have a configuration file; "" if it can."""
    try:
        dataflow(with_softmax(graph))
    except UsageError as error:
        return str(error)
    return ""


def _layers(graph: Graph, flow: Dataflow) -> dict[str, str]:
    """Leaf of a convolution or product → the layer of the optimized graph."""
    best = optimize(graph)
    names = [node.name for node in graph.nodes if isinstance(node.op, ConvOp | DenseOp)]
    leaves = [leaf.name for leaf in flow.leaves if leaf.op in COMPUTING]
    pairs = zip(leaves, names, strict=True)
    return {leaf: find_layer(best, name).name for leaf, name in pairs}


def _configuration(
    exact: Configuration, flow: Dataflow, point: TunedPoint, layers: Mapping[str, str]
) -> Configuration:
    lines = tuple(
        _line(line, point.knobs.get(layers.get(leaves[0].name, ""), BASELINE))
        for line, leaves in zip(exact.lines, fused_lines(flow), strict=True)
    )
    return msgspec.structs.replace(
        exact,
        name=point.name,
        speedup=round(point.speedup, 4),
        accuracy=round(point.accuracy, 4),
        loss=round(point.test.points, 4),
        lines=lines,
    )


def _line(line: ConfigLine, number: int) -> ConfigLine:
    if number == BASELINE:
        return line
    first, *others = line.choices
    chosen = KnobChoice(first.op, knob(number).name, number)
    return msgspec.structs.replace(line, choices=(chosen, *others))

"""Which knobs of a layer are worth trying: quicker than it is, and no other quicker and nearer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from assay.native import reference
from assay.native.graph import Array, Graph, Node
from assay.native.knobs.apply import Calibration, applied
from assay.native.knobs.table import BASELINE
from assay.native.ops import constants_of
from assay.native.subgraph import only
from assay.native.tuner.layer_times import HALF, INT8, Times, tuned_layers

PAYS = 0.97  # of the exact layer's cost, that a knob has at most
MOST = 6  # knobs of a layer
SMALL = 0.01  # of the whole cost: of such a layer only int8 is tried
ITEMS = 8  # of the calibration set, on which errors are compared


class KnobbedLayer(NamedTuple):
    """A layer alone, as a knob computes it."""

    knob: int
    graph: Graph
    error: float  # mean square of what it does to the layer's output, over that of the output


def candidates(
    graph: Graph, costs: Times, calibration: Calibration
) -> dict[str, tuple[KnobbedLayer, ...]]:
    """By layer, from the dearest on; a cost is a time, or whatever else is to be saved."""
    whole = sum(each[BASELINE] for each in costs.values())
    found = {}
    for node in tuned_layers(graph):
        took = costs[node.name]
        small = took[BASELINE] < SMALL * whole
        tried = {INT8} & took.keys() if small else _paying(took) | ({INT8} & took.keys())
        made = [knobbed(graph, node, knob, calibration) for knob in sorted(tried)]
        found[node.name] = _front(made, took)
    return found


def knobbed(graph: Graph, node: Node, knob: int, calibration: Calibration) -> KnobbedLayer:
    alone = applied(only(graph, node), {node.name: knob}, calibration=calibration)
    inputs = [calibration.values[value.name][:ITEMS] for value in alone.inputs]
    exact = calibration.values[node.output][:ITEMS]
    moved = reference.outputs(alone, *inputs)[0] - exact
    return KnobbedLayer(knob, alone, _square(moved) / (_square(exact - exact.mean()) or 1.0))


def byte_costs(graph: Graph, times: Times, calibration: Calibration) -> Times:
    """Bytes of weights in place of seconds, for the same knobs."""
    quick = Calibration(calibration.values, correct=False)
    found: Times = {}
    for node in tuned_layers(graph):
        alone = only(graph, node)
        made = {k: applied(alone, {node.name: k}, calibration=quick) for k in times[node.name]}
        found[node.name] = {knob: float(weight_bytes(each)) for knob, each in made.items()}
    return found


def weight_bytes(graph: Graph) -> int:
    """Of the weights as they are multiplied; those of whole numbers are bytes."""
    total = 0
    for node in graph.nodes:
        held = constants_of(node.op)
        for field, name in held.items():
            whole = field == "weight" and "scales" in held
            total += graph.constants[name].size * (1 if whole else 4)
    return total


def _paying(took: Mapping[int, float]) -> set[int]:
    exact = took[BASELINE]
    return {k for k, s in took.items() if k not in (BASELINE, HALF) and s < PAYS * exact}


def _front(made: list[KnobbedLayer], took: Mapping[int, float]) -> tuple[KnobbedLayer, ...]:
    """The nearest first, then what is quicker; int8 always, which between layers of bytes saves two
    casts, though it may not pay by itself."""
    kept: list[KnobbedLayer] = []
    for each in sorted(made, key=lambda one: (one.error, took[one.knob])):
        fastest = min((took[one.knob] for one in kept), default=np.inf)
        if each.knob == INT8 or took[each.knob] < PAYS * fastest:
            kept.append(each)
    places = np.unique(np.linspace(0, len(kept) - 1, min(MOST, len(kept))).round().astype(int))
    return tuple(one for n, one in enumerate(kept) if n in places or one.knob == INT8)


def _square(values: Array) -> float:
    return float(np.mean(np.square(values, dtype=np.float64)))

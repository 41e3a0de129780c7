"""Candidate knobs of a layer: its Pareto front of time and error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from assay.native import reference
from assay.native.graph import Array, Graph, Node
from assay.native.knobs.apply import Calibration, apply_knobs
from assay.native.knobs.table import BASELINE
from assay.native.ops import constants_of
from assay.native.subgraph import single_layer_graph
from assay.native.tuner.layer_times import HALF, INT8, Times, tuned_layers

PAYS = 0.97  # maximum cost of a knob, as a share of the exact layer's
MAX_CANDIDATES = 6  # knobs of a layer
SMALL = 0.01  # of the total cost: for smaller layers only int8 is a candidate
ITEMS = 8  # of the calibration set, to compare errors


class KnobbedLayer(NamedTuple):
    """A single layer with a knob applied."""

    knob: int
    graph: Graph
    error: float  # relative mean square error of the layer's output


def candidates(
    graph: Graph, costs: Times, calibration: Calibration
) -> dict[str, tuple[KnobbedLayer, ...]]:
    """Candidates by layer; a cost is a time or another objective to minimize."""
    total = sum(cost[BASELINE] for cost in costs.values())
    results = {}
    for node in tuned_layers(graph):
        cost = costs[node.name]
        small = cost[BASELINE] < SMALL * total
        knobs = {INT8} & cost.keys() if small else _paying(cost) | ({INT8} & cost.keys())
        layers = [make_candidate(graph, node, knob, calibration) for knob in sorted(knobs)]
        results[node.name] = _front(layers, cost)
    return results


def make_candidate(graph: Graph, node: Node, knob: int, calibration: Calibration) -> KnobbedLayer:
    single = apply_knobs(
        single_layer_graph(graph, node), {node.name: knob}, calibration=calibration
    )
    inputs = [calibration.values[value.name][:ITEMS] for value in single.inputs]
    exact = calibration.values[node.output][:ITEMS]
    delta = reference.outputs(single, *inputs)[0] - exact
    return KnobbedLayer(knob, single, _square(delta) / (_square(exact - exact.mean()) or 1.0))


def byte_costs(graph: Graph, times: Times, calibration: Calibration) -> Times:
    """Bytes of weights in place of seconds, for the same knobs."""
    quick = Calibration(calibration.values, correct=False)
    costs: Times = {}
    for node in tuned_layers(graph):
        single = single_layer_graph(graph, node)
        variants = {
            k: apply_knobs(single, {node.name: k}, calibration=quick) for k in times[node.name]
        }
        costs[node.name] = {
            knob: float(weight_bytes(variant)) for knob, variant in variants.items()
        }
    return costs


def weight_bytes(graph: Graph) -> int:
    """Size of the weights in memory; int8 weights have 1 byte."""
    total = 0
    for node in graph.nodes:
        constants = constants_of(node.op)
        for field, name in constants.items():
            is_int8 = field == "weight" and "scales" in constants
            total += graph.constants[name].size * (1 if is_int8 else 4)
    return total


def _paying(costs: Mapping[int, float]) -> set[int]:
    exact = costs[BASELINE]
    return {k for k, s in costs.items() if k not in (BASELINE, HALF) and s < PAYS * exact}


def _front(layers: list[KnobbedLayer], costs: Mapping[int, float]) -> tuple[KnobbedLayer, ...]:
    """Pareto front by rising error; int8 always, as it saves casts between int8 layers even if it
    is not faster alone."""
    best: list[KnobbedLayer] = []
    for candidate in sorted(layers, key=lambda layer: (layer.error, costs[layer.knob])):
        fastest = min((costs[layer.knob] for layer in best), default=np.inf)
        if candidate.knob == INT8 or costs[candidate.knob] < PAYS * fastest:
            best.append(candidate)
    indices = np.unique(
        np.linspace(0, len(best) - 1, min(MAX_CANDIDATES, len(best))).round().astype(int)
    )
    return tuple(layer for n, layer in enumerate(best) if n in indices or layer.knob == INT8)


def _square(values: Array) -> float:
    return float(np.mean(np.square(values, dtype=np.float64)))

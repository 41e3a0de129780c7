"""A graph with knobs: the same graph, whose layers are computed with less work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from assay.core.errors import NotPossibleError, UsageError
from assay.native import reference
from assay.native.graph import Array, Graph, Node
from assay.native.kernels import layer_named
from assay.native.knobs.chains import over_bytes, whole_layer
from assay.native.knobs.sampling import sampled
from assay.native.knobs.table import BASELINE, Knob, knob, why_not
from assay.native.ops import ConvOp, DenseOp
from assay.native.passes.pipeline import drop_dead
from assay.native.passes.rewriting import rewritten

Knobs = Mapping[str, int]  # of layers, by any name that `layer_named` knows


def applied(graph: Graph, knobs: Knobs, items: Sequence[Array] = ()) -> Graph:
    """An optimized graph with these knobs; layers that are not named stay as they are.

    `items` is a batch for each input, from which the ranges of bytes are found; knobs of int8 need
    one, and the more it is like what will come, the less is lost.
    """
    chosen = _chosen(graph, knobs)
    made: dict[str, Array] = {}
    nodes = []
    for node in graph.nodes:
        found = chosen.get(node.name)
        nodes.append(_changed(node, found, graph, made) if found else node)
    changed = rewritten(graph, nodes, made)
    layers = {name for name, found in chosen.items() if found.int8}
    if layers:
        changed = over_bytes(changed, layers, _values(graph, layers, items))
    return drop_dead(changed)


def _chosen(graph: Graph, knobs: Knobs) -> dict[str, Knob]:
    """By the names of the nodes; a knob that cannot be had is told with its layer."""
    found = {}
    for layer, number in knobs.items():
        wanted, node = knob(number), _node(graph, layer)
        if wanted.runs == "simulated":
            raise NotPossibleError(
                f"The knob {number} ({wanted.name}) of '{layer}' is only simulated: "
                f"{wanted.summary}.",
                hint="assay.native.knobs.promise simulates it with numpy.",
            )
        if why := why_not(wanted, node, graph):
            raise UsageError(
                f"The knob {number} ({wanted.name}) does not fit '{layer}': {why}.",
                hint=f"{BASELINE} leaves it as it is.",
            )
        if wanted.id != BASELINE:
            found[node.name] = wanted
    return found


def _node(graph: Graph, layer: str) -> Node:
    named = (node for node in graph.nodes if node.name == layer)
    return next(named, None) or layer_named(graph, layer)


def _changed(node: Node, found: Knob, graph: Graph, made: dict[str, Array]) -> Node:
    """All but what bytes change."""
    op = node.op
    if not isinstance(op, ConvOp | DenseOp):
        return node
    weight = graph.constants[op.weight]
    if found.name == "weight_int8":
        return whole_layer(node, op, weight, made)
    if found.half:
        weight = weight.astype(np.float16).astype(np.float32)
    if isinstance(op, ConvOp) and found.name.startswith("samp"):
        every, offset = map(int, found.parameters)
        weight = sampled(weight, every, offset)
        op = msgspec.structs.replace(op, sampled=True)
    if isinstance(op, ConvOp) and found.name.startswith("perf"):
        rows, columns, offset = map(int, found.parameters)
        op = msgspec.structs.replace(op, perforation=(rows, columns, offset))
    if weight is not graph.constants[op.weight]:
        name = f"{node.name}/knob{found.id}"
        made[name] = weight
        op = msgspec.structs.replace(op, weight=name)
    return msgspec.structs.replace(node, op=op)


def _values(graph: Graph, layers: set[str], items: Sequence[Array]) -> dict[str, Array]:
    if not items:
        raise UsageError(
            f"{len(layers)} layers of {graph.name} are to be int8, but there are no items to find "
            "their ranges from.",
            hint="Give some of the model's inputs.",
        )
    return reference.computed(graph, *items)

"""Transposes and reshapes that need not be: undone pairs, axes of one, rows of a dense layer."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from assay.native.graph import Array, Graph, Node, Shape
from assay.native.ops import Dense, Reshape, Transpose
from assay.native.passes.rewriting import rewritten


def join_turns(graph: Graph) -> Graph:
    """A transpose of a transpose is one, or none; so with reshapes. What does nothing goes."""
    made: dict[str, Node] = {}
    same: dict[str, str] = {}  # a value → the one it equals
    shapes = graph.shapes()
    for node in graph.nodes:
        node = msgspec.structs.replace(node, inputs=tuple(same.get(n, n) for n in node.inputs))
        node = _joined(_simple(_joined(node, made), shapes), made)
        if _does_nothing(node, shapes) and node.output not in graph.outputs:
            same[node.output] = node.inputs[0]
        else:
            made[node.output] = node
    return rewritten(graph, made.values())


def _joined(node: Node, made: dict[str, Node]) -> Node:
    before = made.get(node.inputs[0]) if node.inputs else None
    if before is None or type(before.op) is not type(node.op):
        return node
    if isinstance(node.op, Reshape):
        return msgspec.structs.replace(node, inputs=before.inputs)
    if isinstance(node.op, Transpose) and isinstance(before.op, Transpose):
        order = tuple(before.op.order[axis] for axis in node.op.order)
        return msgspec.structs.replace(node, op=Transpose(order), inputs=before.inputs)
    return node


def _simple(node: Node, shapes: dict[str, Shape]) -> Node:
    """A transpose that moves only axes of size 1 moves no value."""
    if not isinstance(node.op, Transpose):
        return node
    shape = shapes[node.inputs[0]]
    moved = [axis for axis in node.op.order if shape[axis] > 1]
    return node if moved != sorted(moved) else msgspec.structs.replace(node, op=Reshape(node.shape))


def _does_nothing(node: Node, shapes: dict[str, Shape]) -> bool:
    return isinstance(node.op, Reshape) and node.op.shape == shapes[node.inputs[0]]


def turn_dense_rows(graph: Graph) -> Graph:
    """A picture turned only to be flattened for a dense layer: its weights are turned instead."""
    made: dict[str, Array] = {}
    writers: dict[str, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        flat = writers.get(node.inputs[0])
        turn = writers.get(flat.inputs[0]) if flat and isinstance(flat.op, Reshape) else None
        if flat and turn and isinstance(turn.op, Transpose) and _flattens(flat, node):
            name = f"{node.name}/flat"
            bare = msgspec.structs.replace(flat, name=name, output=name, inputs=turn.inputs)
            if name not in writers:
                nodes.append(bare)
                writers[name] = bare
            node = _turned(node, bare, turn, graph, made)
        nodes.append(node)
        writers[node.output] = node
    return rewritten(graph, nodes, made)


def _flattens(flat: Node, node: Node) -> bool:
    return len(flat.shape) == 1 and isinstance(node.op, Dense)


def _turned(node: Node, flat: Node, turn: Node, graph: Graph, made: dict[str, Array]) -> Node:
    assert isinstance(node.op, Dense) and isinstance(turn.op, Transpose)
    weight = graph.constants[node.op.weight]
    shape = graph.shapes()[turn.inputs[0]]
    # Where each value of the unturned picture stands in the turned one.
    places = np.arange(math.prod(shape)).reshape(shape).transpose(turn.op.order).ravel()
    name = f"{node.name}/turned_weight"
    made[name] = np.ascontiguousarray(weight[:, np.argsort(places)])
    op = msgspec.structs.replace(node.op, weight=name)
    return msgspec.structs.replace(node, op=op, inputs=(flat.output, *node.inputs[1:]))

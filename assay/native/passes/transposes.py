"""Remove redundant transposes and reshapes."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from assay.native.graph import Array, Graph, Node, Origin, Shape, Value, make_node
from assay.native.ops import DenseOp, ReshapeOp, TransposeOp
from assay.native.passes.rewrite import replace_nodes, unused_name


def merge_transposes(graph: Graph) -> Graph:
    """Merge transposes of transposes and reshapes of reshapes; remove identities."""
    nodes: dict[str, Node] = {}
    same: dict[str, str] = {}  # output of an identity → its input
    shapes = graph.shapes()
    for node in graph.nodes:
        node = msgspec.structs.replace(node, inputs=tuple(same.get(n, n) for n in node.inputs))
        node = _merge(_simplify(_merge(node, nodes), shapes), nodes)
        if _does_nothing(node, shapes) and node.output not in graph.outputs:
            same[node.output] = node.inputs[0]
        else:
            nodes[node.output] = node
    return replace_nodes(graph, nodes.values())


def _merge(node: Node, nodes: dict[str, Node]) -> Node:
    before = nodes.get(node.input)
    if before is None or type(before.op) is not type(node.op):
        return node
    if isinstance(node.op, ReshapeOp):
        return msgspec.structs.replace(node, inputs=before.inputs, sources=_sources(before, node))
    if isinstance(node.op, TransposeOp) and isinstance(before.op, TransposeOp):
        order = tuple(before.op.order[axis] for axis in node.op.order)
        return msgspec.structs.replace(
            node, op=TransposeOp(order), inputs=before.inputs, sources=_sources(before, node)
        )
    return node


def _sources(before: Node, node: Node) -> tuple[Origin, ...]:
    return before.origins + node.origins


def _simplify(node: Node, shapes: dict[str, Shape]) -> Node:
    """A transpose that moves only axes of size 1 becomes a reshape."""
    if not isinstance(node.op, TransposeOp):
        return node
    shape = shapes[node.inputs[0]]
    axes = [axis for axis in node.op.order if shape[axis] > 1]
    return node if axes != sorted(axes) else msgspec.structs.replace(node, op=ReshapeOp(node.shape))


def _does_nothing(node: Node, shapes: dict[str, Shape]) -> bool:
    return isinstance(node.op, ReshapeOp) and node.op.shape == shapes[node.inputs[0]]


def take_channels_first(graph: Graph) -> Graph:
    """Convert inputs to channels first, with a transpose where the model's own order matters."""
    turns = {
        value.name: make_node(
            unused_name(f"{value.name}/channels_last", graph),
            TransposeOp((1, 2, 0)),
            [(value.name, (value.shape[2], *value.shape[:2]))],
            {},
        )
        for value in graph.inputs
        if value.layout == "channels_last"
    }
    if not turns:
        return graph
    converted = msgspec.structs.replace(
        graph,
        inputs=tuple(_channels_first(value) for value in graph.inputs),
        nodes=(*turns.values(), *(_replace_inputs(node, turns) for node in graph.nodes)),
        outputs=tuple(turns[name].output if name in turns else name for name in graph.outputs),
    )
    return permute_dense_weights(merge_transposes(converted))


def _channels_first(value: Value) -> Value:
    if value.layout != "channels_last":
        return value
    return Value(value.name, (value.shape[2], *value.shape[:2]), "channels_first")


def _replace_inputs(node: Node, turns: dict[str, Node]) -> Node:
    inputs = tuple(turns[name].output if name in turns else name for name in node.inputs)
    return msgspec.structs.replace(node, inputs=inputs)


def permute_dense_weights(graph: Graph) -> Graph:
    """Replace a transpose before a flattened dense layer by permuted weights."""
    extra: dict[str, Array] = {}
    writers: dict[str, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        flat = writers.get(node.input)
        turn = writers.get(flat.inputs[0]) if flat and isinstance(flat.op, ReshapeOp) else None
        if flat and turn and isinstance(turn.op, TransposeOp) and _flattens(flat, node):
            name = unused_name(f"{node.name}/flat", graph)
            bare = msgspec.structs.replace(flat, name=name, output=name, inputs=turn.inputs)
            nodes.append(bare)
            writers[name] = bare
            node = _permute_weights(node, bare, turn, graph, extra)
        nodes.append(node)
        writers[node.output] = node
    return replace_nodes(graph, nodes, extra)


def _flattens(flat: Node, node: Node) -> bool:
    return len(flat.shape) == 1 and isinstance(node.op, DenseOp)


def _permute_weights(
    node: Node, flat: Node, turn: Node, graph: Graph, extra: dict[str, Array]
) -> Node:
    assert isinstance(node.op, DenseOp) and isinstance(turn.op, TransposeOp)
    weight = graph.constants[node.op.weight]
    shape = graph.shapes()[turn.inputs[0]]
    # position of each value of the image in the transposed one
    positions = np.arange(math.prod(shape)).reshape(shape).transpose(turn.op.order).ravel()
    name = f"{node.name}/turned_weight"
    extra[name] = np.ascontiguousarray(weight[:, np.argsort(positions)])
    op = msgspec.structs.replace(node.op, weight=name)
    return msgspec.structs.replace(node, op=op, inputs=(flat.output, *node.inputs[1:]))

"""Fold batch norms into adjacent convolutions and dense layers, in double precision."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from assay.native.graph import Array, Graph, Node, Shape
from assay.native.ops import BatchNormOp, BinaryOp, ConstantOp, ConvOp, DenseOp
from assay.native.passes.rewrite import merge_pairs, replace_nodes

Linear = ConvOp | DenseOp


def fold_batch_norm(graph: Graph) -> Graph:
    """Fold batch norms into the convolution or dense layer before them."""
    extra: dict[str, Array] = {}
    constants = ChainMap(extra, dict(graph.constants))  # a chain of norms reads folded constants

    def merge(before: Node, node: Node) -> Node | None:
        op, norm = before.op, node.op
        if not isinstance(norm, BatchNormOp) or not _can_fold(before) or not isinstance(op, Linear):
            return None
        scale, shift = scale_and_shift(norm, graph.constants)
        weight = constants[op.weight].astype(np.float64)
        bias = constants[op.bias].astype(np.float64) if op.bias else 0.0
        weight = weight * scale.reshape(-1, *(1,) * (weight.ndim - 1))
        folded = _replace_weights(op, node, weight, bias * scale + shift, extra)
        folded = msgspec.structs.replace(folded, post=norm.post)
        return msgspec.structs.replace(before, op=folded, output=node.output)

    return merge_pairs(graph, merge, extra)


def fold_batch_norm_forward(graph: Graph) -> Graph:
    """Fold batch norms into the convolutions and dense layers after them, if none of these pads.

    Padding adds zeros after the norm: there a folded shift would be wrong.
    """
    extra: dict[str, Array] = {}
    readers = graph.readers()
    foldable = {
        node.output: node
        for node in graph.nodes
        if isinstance(node.op, BatchNormOp)
        and not node.op.post
        and node.output not in graph.outputs
        and all(_can_fold_forward(reader, node) for reader in readers[node.output])
    }
    nodes = []
    for node in graph.nodes:
        norm = foldable.get(node.input)
        if norm and isinstance(node.op, Linear) and isinstance(norm.op, BatchNormOp):
            op = _fold_into_reader(node, node.op, norm.op, graph.constants, extra)
            node = msgspec.structs.replace(
                node,
                op=op,
                inputs=(norm.inputs[0], *node.inputs[1:]),
                sources=norm.origins + node.origins,
            )
        nodes.append(node)
    return replace_nodes(graph, (node for node in nodes if node.output not in foldable), extra)


def scale_and_shift(op: BatchNormOp, constants: Mapping[str, Array]) -> tuple[Array, Array]:
    """Scale and shift of a batch norm, in double precision."""
    parameters = {
        part: constants[name].astype(np.float64)
        for part in ("mean", "variance", "gamma", "beta")
        if (name := getattr(op, part))
    }
    scale = parameters.get("gamma", 1.0) / np.sqrt(parameters["variance"] + op.epsilon)
    return scale, parameters.get("beta", 0.0) - parameters["mean"] * scale


def _can_fold(node: Node) -> bool:
    """Whether its result is linear in its weights, and axis 0 is that of its outputs."""
    if isinstance(node.op, DenseOp):
        return not node.op.post and len(node.shape) == 1
    return isinstance(node.op, ConvOp) and not node.op.post


def _can_fold_forward(reader: Node, norm: Node) -> bool:
    """Whether it multiplies the norm's output, reads it once, and does not pad it."""
    if norm.output in reader.inputs[1:]:
        return False
    if isinstance(reader.op, DenseOp):
        return len(norm.shape) == 1
    return isinstance(reader.op, ConvOp) and not any(reader.op.pads)


def _fold_into_reader(
    node: Node,
    op: Linear,
    norm: BatchNormOp,
    constants: Mapping[str, Array],
    extra: dict[str, Array],
) -> Linear:
    scale, shift = scale_and_shift(norm, constants)
    weight = constants[op.weight].astype(np.float64)
    groups = op.groups if isinstance(op, ConvOp) else 1
    # The input channel that each (out, in) of the weight reads.
    first = np.arange(len(weight)) // (len(weight) // groups) * weight.shape[1]
    channel = first[:, None] + np.arange(weight.shape[1])
    wide = channel.shape + (1,) * (weight.ndim - 2)
    bias = (weight * shift[channel].reshape(wide)).reshape(len(weight), -1).sum(1)
    bias = bias + constants[op.bias] if op.bias else bias
    return _replace_weights(op, node, weight * scale[channel].reshape(wide), bias, extra)


def _replace_weights(
    op: Linear, node: Node, weight: Array, bias: Array, extra: dict[str, Array]
) -> Linear:
    """The op with new constants, named after the node, as others may share the old ones."""
    names = (f"{node.name}/folded_weight", f"{node.name}/folded_bias")
    extra |= zip(names, (weight.astype(np.float32), bias.astype(np.float32)), strict=True)
    return msgspec.structs.replace(op, weight=names[0], bias=names[1])


def scales_to_norms(graph: Graph) -> Graph:
    """Convert `x * a` and `x + b` with per-channel constants to batch norms."""
    extra: dict[str, Array] = {}
    known = {
        node.output: graph.constants[node.op.weight]
        for node in graph.nodes
        if isinstance(node.op, ConstantOp)
    }
    shapes = graph.shapes()
    return replace_nodes(
        graph, [_scale_to_norm(node, known, shapes, extra) for node in graph.nodes], extra
    )


def _scale_to_norm(
    node: Node, known: dict[str, Array], shapes: dict[str, Shape], extra: dict[str, Array]
) -> Node:
    if not isinstance(node.op, BinaryOp) or not any(name in known for name in node.inputs):
        return node
    values, constant = node.inputs if node.inputs[1] in known else reversed(node.inputs)
    swapped = node.inputs[0] == constant
    fits = shapes[values] == node.shape and _is_per_channel(shapes[constant])
    if values in known or not fits or (swapped and node.op.kind not in ("add", "multiply")):
        return node
    numbers = known[constant].reshape(-1).astype(np.float64)
    factors: dict[str, tuple[Any, Any]] = {
        "multiply": (numbers, 0.0),
        "divide": (1 / numbers if np.all(numbers) else None, 0.0),
        "add": (1.0, numbers),
        "subtract": (1.0, -numbers),
    }
    scale, shift = factors.get(node.op.kind, (None, 0.0))
    if scale is None:
        return node
    op = _make_norm(node.name, node.shape[0], scale, shift, extra)
    op = msgspec.structs.replace(op, post=node.op.post)
    return msgspec.structs.replace(node, op=op, inputs=(values,))


def _is_per_channel(shape: Shape) -> bool:
    return all(size == 1 for size in shape[1:])


def _make_norm(
    name: str, size: int, scale: Array | float, shift: Array | float, extra: dict[str, Array]
) -> BatchNormOp:
    parts = {"mean": 0.0, "variance": 1.0, "gamma": scale, "beta": shift}
    names = {part: f"{name}/norm_{part}" for part in parts}
    for part, numbers in parts.items():
        extra[names[part]] = np.broadcast_to(np.asarray(numbers, np.float32), (size,)).copy()
    return BatchNormOp(**names, epsilon=0.0)  # type: ignore[arg-type]


def merge_norms(graph: Graph) -> Graph:
    """Merge a batch norm of a batch norm into one."""
    extra: dict[str, Array] = {}

    def merge(before: Node, node: Node) -> Node | None:
        first, second = before.op, node.op
        if not isinstance(first, BatchNormOp) or not isinstance(second, BatchNormOp) or first.post:
            return None
        constants = {**graph.constants, **extra}
        (a, b), (c, d) = scale_and_shift(first, constants), scale_and_shift(second, constants)
        op = _make_norm(node.output, node.shape[0], a * c, b * c + d, extra)
        op = msgspec.structs.replace(op, post=second.post)
        return msgspec.structs.replace(node, op=op, inputs=before.inputs)

    return merge_pairs(graph, merge, extra)

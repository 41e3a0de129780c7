"""Batch norms folded into the convolutions and dense layers beside them, in double precision."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

import msgspec
import numpy as np

from assay.native.graph import Array, Graph, Node
from assay.native.ops import BatchNormOp, ConvOp, DenseOp
from assay.native.passes.rewrite import merge_pairs, rewritten

Linear = ConvOp | DenseOp


def fold_batch_norm(graph: Graph) -> Graph:
    """Into the convolution or dense layer before it."""
    made: dict[str, Array] = {}
    held = ChainMap(
        made, dict(graph.constants)
    )  # of a chain of norms, each folds what the last made

    def merge(before: Node, node: Node) -> Node | None:
        op, norm = before.op, node.op
        if not isinstance(norm, BatchNormOp) or not _takes(before) or not isinstance(op, Linear):
            return None
        scale, shift = scale_and_shift(norm, graph.constants)
        weight = held[op.weight].astype(np.float64)
        bias = held[op.bias].astype(np.float64) if op.bias else 0.0
        weight = weight * scale.reshape(-1, *(1,) * (weight.ndim - 1))
        folded = _with(op, node, weight, bias * scale + shift, made)
        folded = msgspec.structs.replace(folded, post=norm.post)
        return msgspec.structs.replace(before, op=folded, output=node.output)

    return merge_pairs(graph, merge, made)


def fold_batch_norm_forward(graph: Graph) -> Graph:
    """Into the convolutions and dense layers after it, where none of them pads.

    Padding is zeros after the norm, not before it: there a folded shift would be wrong.
    """
    made: dict[str, Array] = {}
    readers = graph.readers()
    foldable = {
        node.output: node
        for node in graph.nodes
        if isinstance(node.op, BatchNormOp)
        and not node.op.post
        and node.output not in graph.outputs
        and all(_reads_bare(reader, node) for reader in readers[node.output])
    }
    nodes = []
    for node in graph.nodes:
        norm = foldable.get(node.input)
        if norm and isinstance(node.op, Linear) and isinstance(norm.op, BatchNormOp):
            op = _after(node, node.op, norm.op, graph.constants, made)
            node = msgspec.structs.replace(
                node,
                op=op,
                inputs=(norm.inputs[0], *node.inputs[1:]),
                sources=norm.origins + node.origins,
            )
        nodes.append(node)
    return rewritten(graph, (node for node in nodes if node.output not in foldable), made)


def scale_and_shift(op: BatchNormOp, constants: Mapping[str, Array]) -> tuple[Array, Array]:
    """What a batch norm multiplies by and adds, in double precision."""
    held = {
        part: constants[name].astype(np.float64)
        for part in ("mean", "variance", "gamma", "beta")
        if (name := getattr(op, part))
    }
    scale = held.get("gamma", 1.0) / np.sqrt(held["variance"] + op.epsilon)
    return scale, held.get("beta", 0.0) - held["mean"] * scale


def _takes(node: Node) -> bool:
    """Its result is linear in its weights, and axis 0 is that of its outputs."""
    if isinstance(node.op, DenseOp):
        return not node.op.post and len(node.shape) == 1
    return isinstance(node.op, ConvOp) and not node.op.post


def _reads_bare(reader: Node, norm: Node) -> bool:
    """It reads the norm as what it multiplies, once, and pads it with nothing."""
    if norm.output in reader.inputs[1:]:
        return False
    if isinstance(reader.op, DenseOp):
        return len(norm.shape) == 1
    return isinstance(reader.op, ConvOp) and not any(reader.op.pads)


def _after(
    node: Node,
    op: Linear,
    norm: BatchNormOp,
    constants: Mapping[str, Array],
    made: dict[str, Array],
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
    return _with(op, node, weight * scale[channel].reshape(wide), bias, made)


def _with(op: Linear, node: Node, weight: Array, bias: Array, made: dict[str, Array]) -> Linear:
    """The op with folded constants, named after the node, for others may share the old ones."""
    names = (f"{node.name}/folded_weight", f"{node.name}/folded_bias")
    made |= zip(names, (weight.astype(np.float32), bias.astype(np.float32)), strict=True)
    return msgspec.structs.replace(op, weight=names[0], bias=names[1])

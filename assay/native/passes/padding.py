"""Zeros around an image, left to the convolution that reads it."""

from __future__ import annotations

import msgspec

from assay.native.graph import Graph, Node
from assay.native.ops import Conv, Pad
from assay.native.passes.rewriting import rewritten


def fold_padding(graph: Graph) -> Graph:
    """A pooling window would not count such zeros, so there the padding stays an operation."""
    padding = {node.output: node for node in graph.nodes if isinstance(node.op, Pad)}
    return rewritten(graph, (_folded(node, padding) for node in graph.nodes))


def _folded(node: Node, padding: dict[str, Node]) -> Node:
    pad = padding.get(node.inputs[0])
    if not isinstance(node.op, Conv) or pad is None or not isinstance(pad.op, Pad):
        return node
    top, left, bottom, right = (a + b for a, b in zip(node.op.pads, pad.op.pads, strict=True))
    op = msgspec.structs.replace(node.op, pads=(top, left, bottom, right))
    return msgspec.structs.replace(node, op=op, inputs=(*pad.inputs, *node.inputs[1:]))

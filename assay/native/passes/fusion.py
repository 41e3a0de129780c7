"""Fuse activations, sums and pools into the operation before them."""

from __future__ import annotations

import msgspec

from assay.native.activations import MONOTONIC
from assay.native.graph import Graph, Node
from assay.native.ops import (
    ActivationOp,
    BatchNormOp,
    BinaryOp,
    ConvOp,
    DenseOp,
    PoolOp,
    ResidualOp,
)
from assay.native.passes.rewrite import merge_pairs, replace_nodes, single_use_values, unused_name

# After a max pool these compute fewer values; a fused relu costs nothing.
COSTLY = MONOTONIC - {"relu"}


def fuse_activations(graph: Graph) -> Graph:
    def merge(before: Node, node: Node) -> Node | None:
        takes = isinstance(before.op, ConvOp | DenseOp | BatchNormOp | BinaryOp | PoolOp)
        takes = takes and isinstance(node.op, ActivationOp)
        return _fuse(before, node, (node.op,)) if takes else None

    return merge_pairs(graph, merge)


def fuse_residuals(graph: Graph) -> Graph:
    """Fuse a residual sum into a convolution or dense layer; at most one for each."""

    def merge(before: Node, node: Node) -> Node | None:
        op = node.op
        if not isinstance(op, BinaryOp) or op.kind != "add" or not _can_add(before, node):
            return None
        other = node.inputs[1] if node.inputs[0] == before.output else node.inputs[0]
        fused = _fuse(before, node, (ResidualOp(), *op.post))
        return msgspec.structs.replace(fused, inputs=(*before.inputs, other))

    shapes = graph.shapes()

    def _can_add(before: Node, node: Node) -> bool:
        if not isinstance(before.op, ConvOp | DenseOp) or len(before.inputs) > 1:
            return False
        pools = any(isinstance(post, PoolOp) for post in before.op.post)
        return not pools and all(shapes[name] == node.shape for name in node.inputs)

    return merge_pairs(graph, merge)


def fuse_pools(graph: Graph) -> Graph:
    """Fuse pools into convolutions, whose result is then not written in full."""

    def merge(before: Node, node: Node) -> Node | None:
        if not isinstance(before.op, ConvOp) or not isinstance(node.op, PoolOp):
            return None
        bare = msgspec.structs.replace(node.op, post=())
        return _fuse(before, node, (bare, *node.op.post))

    return merge_pairs(graph, merge)


def pool_before_activation(graph: Graph) -> Graph:
    """Swap a monotonic activation with a max pool: max(f(x)) is f(max(x))."""
    free = single_use_values(graph)
    nodes: dict[str, Node] = {}
    for node in graph.nodes:
        before = nodes.get(node.input)
        if before and node.input in free and _can_swap(before, node):
            inner = unused_name(f"{node.output}/before", graph)
            nodes[inner] = msgspec.structs.replace(node, inputs=before.inputs, output=inner)
            del nodes[node.inputs[0]]
            node = msgspec.structs.replace(before, inputs=(inner,), output=node.output)
        nodes[node.output] = node
    return replace_nodes(graph, nodes.values())


def _can_swap(before: Node, node: Node) -> bool:
    activation, pool = before.op, node.op
    if not isinstance(activation, ActivationOp) or not isinstance(pool, PoolOp):
        return False
    rising = activation.kind in COSTLY and activation.alpha >= 0
    return rising and pool.kind == "max" and not pool.post


def _fuse(before: Node, node: Node, post: tuple[object, ...]) -> Node:
    """The first node with `post` appended, writing the second's output."""
    op = msgspec.structs.replace(before.op, post=(*before.op.post, *post))  # type: ignore[union-attr]
    return msgspec.structs.replace(before, op=op, output=node.output)

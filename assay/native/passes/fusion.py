"""What follows an operation done before its result is written: activations, sums, pooling."""

from __future__ import annotations

import msgspec

from assay.native.activations import RISING
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
from assay.native.passes.rewrite import merge_pairs, read_once, rewritten, unused

# A maximum taken first leaves these fewer values to work on; relu costs nothing where it is.
COSTLY = RISING - {"relu"}


def fuse_activations(graph: Graph) -> Graph:
    def merge(before: Node, node: Node) -> Node | None:
        takes = isinstance(before.op, ConvOp | DenseOp | BatchNormOp | BinaryOp | PoolOp)
        return _joined(before, node, (node.op,)) if takes and _is(node, ActivationOp) else None

    return merge_pairs(graph, merge)


def fuse_residuals(graph: Graph) -> Graph:
    """A sum with the result of a convolution or dense layer; one for each."""

    def merge(before: Node, node: Node) -> Node | None:
        op = node.op
        if not isinstance(op, BinaryOp) or op.kind != "add" or not _can_add(before, node):
            return None
        other = node.inputs[1] if node.inputs[0] == before.output else node.inputs[0]
        joined = _joined(before, node, (ResidualOp(), *op.post))
        return msgspec.structs.replace(joined, inputs=(*before.inputs, other))

    shapes = graph.shapes()

    def _can_add(before: Node, node: Node) -> bool:
        if not isinstance(before.op, ConvOp | DenseOp) or len(before.inputs) > 1:
            return False
        pools = any(isinstance(post, PoolOp) for post in before.op.post)
        return not pools and all(shapes[name] == node.shape for name in node.inputs)

    return merge_pairs(graph, merge)


def fuse_pools(graph: Graph) -> Graph:
    """A convolution whose result is pooled at once, so that it need not be written whole."""

    def merge(before: Node, node: Node) -> Node | None:
        if not isinstance(before.op, ConvOp) or not isinstance(node.op, PoolOp):
            return None
        bare = msgspec.structs.replace(node.op, post=())
        return _joined(before, node, (bare, *node.op.post))

    return merge_pairs(graph, merge)


def pool_before_activation(graph: Graph) -> Graph:
    """max(f(x)) is f(max(x)) where f never falls, and there are fewer maxima than values."""
    free = read_once(graph)
    nodes: dict[str, Node] = {}
    for node in graph.nodes:
        before = nodes.get(node.input)
        if before and node.input in free and _may_swap(before, node):
            inner = unused(f"{node.output}/before", graph)
            nodes[inner] = msgspec.structs.replace(node, inputs=before.inputs, output=inner)
            del nodes[node.inputs[0]]
            node = msgspec.structs.replace(before, inputs=(inner,), output=node.output)
        nodes[node.output] = node
    return rewritten(graph, nodes.values())


def _may_swap(before: Node, node: Node) -> bool:
    activation, pool = before.op, node.op
    if not isinstance(activation, ActivationOp) or not isinstance(pool, PoolOp):
        return False
    rising = activation.kind in COSTLY and activation.alpha >= 0
    return rising and pool.kind == "max" and not pool.post


def _is(node: Node, kind: type) -> bool:
    return isinstance(node.op, kind)


def _joined(before: Node, node: Node, post: tuple[object, ...]) -> Node:
    """The first node, which also does what the second did."""
    op = msgspec.structs.replace(before.op, post=(*before.op.post, *post))  # type: ignore[union-attr]
    return msgspec.structs.replace(before, op=op, output=node.output)

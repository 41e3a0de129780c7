"""All passes that make a graph cheaper and change no result, in the order that lets each help."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from assay.native.graph import Graph, Node
from assay.native.ops import ConvOp, PadOp, constants_of
from assay.native.passes.batch_norm import (
    fold_batch_norm,
    fold_batch_norm_forward,
    join_norms,
    norms_of_scales,
)
from assay.native.passes.fusion import fuse_activations, fuse_residuals, pool_before_activation
from assay.native.passes.rewrite import rewritten
from assay.native.passes.transposes import join_turns, turn_dense_rows


def optimized(graph: Graph) -> Graph:
    """The same outputs from fewer operations. `fuse_pools` is left to who can make use of it."""
    for each in PASSES:
        graph = each(graph)
    return graph


def traced(graph: Graph) -> Graph:
    """Each node knows what it came from, before passes give it other operations."""
    nodes = (msgspec.structs.replace(node, sources=node.origins) for node in graph.nodes)
    return msgspec.structs.replace(graph, nodes=tuple(nodes))


def drop_dead(graph: Graph) -> Graph:
    """Without nodes whose results nobody reads, and constants that nobody names."""
    wanted, kept = set(graph.outputs), []
    for node in reversed(graph.nodes):
        if node.output in wanted:
            kept.append(node)
            wanted.update(node.inputs)
    named = {name for node in kept for name in constants_of(node.op).values()}
    constants = {name: array for name, array in graph.constants.items() if name in named}
    return msgspec.structs.replace(graph, nodes=tuple(reversed(kept)), constants=constants)


def fold_padding(graph: Graph) -> Graph:
    """Zeros around an image are left to the convolution that reads it.

    A pooling window would not count such zeros, so there the padding stays an operation.
    """
    padding = {node.output: node for node in graph.nodes if isinstance(node.op, PadOp)}
    return rewritten(graph, (_folded(node, padding) for node in graph.nodes))


def _folded(node: Node, padding: dict[str, Node]) -> Node:
    pad = padding.get(node.input)
    if not isinstance(node.op, ConvOp) or pad is None or not isinstance(pad.op, PadOp):
        return node
    top, left, bottom, right = (a + b for a, b in zip(node.op.pads, pad.op.pads, strict=True))
    op = msgspec.structs.replace(node.op, pads=(top, left, bottom, right))
    return msgspec.structs.replace(
        node, op=op, inputs=(*pad.inputs, *node.inputs[1:]), sources=pad.origins + node.origins
    )


PASSES: tuple[Callable[[Graph], Graph], ...] = (
    traced,
    join_turns,
    turn_dense_rows,
    fold_padding,
    norms_of_scales,
    drop_dead,  # what is dead would still count as a reader
    join_norms,
    fold_batch_norm,
    fold_batch_norm_forward,
    pool_before_activation,
    fuse_activations,
    fuse_residuals,  # after activations: a relu behind a sum goes along with it
    drop_dead,
)

"""The optimization passes in their order; none changes results."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from assay.native.graph import Graph, Node
from assay.native.ops import ConvOp, PadOp, constants_of
from assay.native.passes.batch_norm import (
    fold_batch_norm,
    fold_batch_norm_forward,
    merge_norms,
    scales_to_norms,
)
from assay.native.passes.fusion import fuse_activations, fuse_residuals, pool_before_activation
from assay.native.passes.rewrite import replace_nodes
from assay.native.passes.transposes import merge_transposes, permute_dense_weights


def optimize(graph: Graph) -> Graph:
    """Run all passes. `fuse_pools` is not among them: only some callers can use it."""
    for run_pass in PASSES:
        graph = run_pass(graph)
    return graph


def record_origins(graph: Graph) -> Graph:
    """Record the origins of each node before other passes change it."""
    nodes = (msgspec.structs.replace(node, sources=node.origins) for node in graph.nodes)
    return msgspec.structs.replace(graph, nodes=tuple(nodes))


def eliminate_dead_code(graph: Graph) -> Graph:
    """Remove nodes whose results are not read, and unused constants."""
    live_values, live_nodes = set(graph.outputs), []
    for node in reversed(graph.nodes):
        if node.output in live_values:
            live_nodes.append(node)
            live_values.update(node.inputs)
    names = {name for node in live_nodes for name in constants_of(node.op).values()}
    constants = {name: array for name, array in graph.constants.items() if name in names}
    return msgspec.structs.replace(graph, nodes=tuple(reversed(live_nodes)), constants=constants)


def fold_padding(graph: Graph) -> Graph:
    """Fold zero padding into the convolution that reads it.

    Not into pools, which do not count padding.
    """
    padding = {node.output: node for node in graph.nodes if isinstance(node.op, PadOp)}
    return replace_nodes(graph, (_fold_pad(node, padding) for node in graph.nodes))


def _fold_pad(node: Node, padding: dict[str, Node]) -> Node:
    pad = padding.get(node.input)
    if not isinstance(node.op, ConvOp) or pad is None or not isinstance(pad.op, PadOp):
        return node
    top, left, bottom, right = (a + b for a, b in zip(node.op.pads, pad.op.pads, strict=True))
    op = msgspec.structs.replace(node.op, pads=(top, left, bottom, right))
    return msgspec.structs.replace(
        node, op=op, inputs=(*pad.inputs, *node.inputs[1:]), sources=pad.origins + node.origins
    )


PASSES: tuple[Callable[[Graph], Graph], ...] = (
    record_origins,
    merge_transposes,
    permute_dense_weights,
    fold_padding,
    scales_to_norms,
    eliminate_dead_code,  # dead nodes would count as readers
    merge_norms,
    fold_batch_norm,
    fold_batch_norm_forward,
    pool_before_activation,
    fuse_activations,
    fuse_residuals,  # after activations: a relu after a sum is fused with it
    eliminate_dead_code,
)

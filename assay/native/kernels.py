"""Force kernels on layers, in place of the autotuned ones."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.core.errors import unknown_name_error
from assay.native.graph import Graph, Node
from assay.native.ops import ConvOp, DenseOp

# Names as programs report them; the runtime checks which fit a layer.
KERNELS = (
    *("direct", "direct-half", "depthwise"),
    *("winograd-4x3", "winograd-2x3", "winograd-2x5", "strassen", "onednn"),
)


def force_kernels(graph: Graph, kernels: Mapping[str, str]) -> Graph:
    """Layers are given by their name or by that of any operation fused into them."""
    for layer, kernel in kernels.items():
        if kernel not in KERNELS:
            raise unknown_name_error("kernel", kernel, KERNELS)
        graph = _set(graph, find_layer(graph, layer).name, kernel)
    return graph


def find_layer(graph: Graph, layer: str) -> Node:
    """The convolution or dense layer that this operation of the model is in."""
    layers = [node for node in graph.nodes if isinstance(node.op, ConvOp | DenseOp)]
    for node in layers:
        if node.name == layer:
            return node
    for node in layers:
        if any(source.name == layer for source in node.origins):
            return node
    raise unknown_name_error("convolution or dense layer", layer, [node.name for node in layers])


def _set(graph: Graph, name: str, kernel: str) -> Graph:
    nodes = (
        msgspec.structs.replace(node, kernel=kernel) if node.name == name else node
        for node in graph.nodes
    )
    return msgspec.structs.replace(graph, nodes=tuple(nodes))

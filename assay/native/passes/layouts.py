"""Which values may lie in memory as an implementation likes best, and which have to be plain."""

from __future__ import annotations

from typing import Literal

from assay.native.graph import Graph, Node
from assay.native.ops import (
    Activation,
    BatchNorm,
    Binary,
    Concatenate,
    Conv,
    GlobalPool,
    Pool,
)

Layout = Literal["plain", "blocked"]

_ANY = Conv | Pool | GlobalPool | BatchNorm | Activation


def layouts(graph: Graph) -> dict[str, Layout]:
    """Of every value. `blocked`: an image that is written and read by such operations only.

    A plain value lies row-major in the order of its shape; inputs and outputs of the graph do.
    """
    found: dict[str, Layout] = {name: "plain" for name in graph.shapes()}
    readers = graph.readers()
    for node in graph.nodes:
        free = len(node.shape) == 3 and node.output not in graph.outputs
        if free and all(_free(each) for each in [node, *readers[node.output]]):
            found[node.output] = "blocked"
    return found


def _free(node: Node) -> bool:
    """It works on images in any layout; values of size 1 along an axis are no obstacle."""
    if isinstance(node.op, Concatenate):
        return node.op.axis == 0 and len(node.shape) == 3
    return isinstance(node.op, _ANY | Binary)

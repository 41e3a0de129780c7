"""Nodes whose results nobody reads, and constants that nobody names."""

from __future__ import annotations

import msgspec

from assay.native.graph import Graph
from assay.native.ops import constants_of


def drop_dead(graph: Graph) -> Graph:
    wanted, kept = set(graph.outputs), []
    for node in reversed(graph.nodes):
        if node.output in wanted:
            kept.append(node)
            wanted.update(node.inputs)
    named = {name for node in kept for name in constants_of(node.op).values()}
    constants = {name: array for name, array in graph.constants.items() if name in named}
    return msgspec.structs.replace(graph, nodes=tuple(reversed(kept)), constants=constants)

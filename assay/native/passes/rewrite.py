"""Helpers of passes: replace nodes, merge pairs of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from assay.native.graph import Array, Graph, Node, Shape
from assay.native.shapes import output_shape

# Merges a node with the one that computes an input of it; None: they do not fit.
Merge = Callable[[Node, Node], Node | None]


def replace_nodes(
    graph: Graph, nodes: Iterable[Node], constants: Mapping[str, Array] | None = None
) -> Graph:
    """The graph with these nodes; infers their shapes."""
    all_constants = {**graph.constants, **(constants or {})}
    shapes: dict[str, Shape] = {value.name: value.shape for value in graph.inputs}
    new_nodes = []
    for node in nodes:
        shape = output_shape(node.op, [shapes[name] for name in node.inputs], all_constants)
        new_nodes.append(msgspec.structs.replace(node, shape=shape))
        shapes[node.output] = shape
    return msgspec.structs.replace(graph, nodes=tuple(new_nodes), constants=all_constants)


def unused_name(name: str, graph: Graph) -> str:
    """A name that no value of the graph has."""
    names = graph.shapes()
    while name in names:
        name += "'"
    return name


def single_use_values(graph: Graph) -> set[str]:
    """Values with a single use, which a merge may remove."""
    counts = Counter(name for node in graph.nodes for name in node.inputs)
    return {name for name, count in counts.items() if count == 1} - set(graph.outputs)


def merge_pairs(graph: Graph, merge: Merge, constants: Mapping[str, Array] | None = None) -> Graph:
    """Merge every pair that `merge` accepts, along whole chains.

    The merged node takes the place of the second, after all its inputs; `constants` are filled
    by `merge` and read at the end. Its origins are those of both.
    """
    free, done = single_use_values(graph), dict[str, Node]()
    for node in graph.nodes:
        for value in node.inputs:
            merged = merge(done[value], node) if value in free and value in done else None
            if merged:
                sources = done.pop(value).origins + node.origins
                node = msgspec.structs.replace(merged, sources=sources)
                break
        done[node.output] = node
    return replace_nodes(graph, done.values(), constants)

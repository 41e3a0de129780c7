"""How a pass makes a new graph: nodes in place of others, two joined into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from assay.native.graph import Array, Graph, Node, Shape
from assay.native.shapes import output_shape

# Joins a node with the one that computes an input of it, or None where they do not fit.
Merge = Callable[[Node, Node], Node | None]


def rewritten(
    graph: Graph, nodes: Iterable[Node], constants: Mapping[str, Array] | None = None
) -> Graph:
    """The graph with these nodes, whose shapes are found anew."""
    held = {**graph.constants, **(constants or {})}
    shapes: dict[str, Shape] = {value.name: value.shape for value in graph.inputs}
    made = []
    for node in nodes:
        shape = output_shape(node.op, [shapes[name] for name in node.inputs], held)
        made.append(msgspec.structs.replace(node, shape=shape))
        shapes[node.output] = shape
    return msgspec.structs.replace(graph, nodes=tuple(made), constants=held)


def unused(name: str, graph: Graph) -> str:
    """A name that no value of the graph has; a pass may run over what it has made before."""
    taken = graph.shapes()
    while name in taken:
        name += "'"
    return name


def read_once(graph: Graph) -> set[str]:
    """Values that one node reads, once, and nobody else: they may be done without."""
    counts = Counter(name for node in graph.nodes for name in node.inputs)
    return {name for name, count in counts.items() if count == 1} - set(graph.outputs)


def merge_pairs(graph: Graph, merge: Merge, constants: Mapping[str, Array] | None = None) -> Graph:
    """Join every pair that `merge` takes, along whole chains.

    The joined node stands where the second did, so that all its inputs are there; `constants` are
    those that `merge` makes, looked at when it is through. It came from what both came from.
    """
    free, done = read_once(graph), dict[str, Node]()
    for node in graph.nodes:
        for value in node.inputs:
            merged = merge(done[value], node) if value in free and value in done else None
            if merged:
                sources = done.pop(value).origins + node.origins
                node = msgspec.structs.replace(merged, sources=sources)
                break
        done[node.output] = node
    return rewritten(graph, done.values(), constants)

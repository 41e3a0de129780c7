"""Cut a graph into parts, so that what comes before a layer is computed once."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.native.graph import Graph, Node, Value
from assay.native.passes.pipeline import eliminate_dead_code


def extract_nodes(graph: Graph, first: int, end: int) -> Graph:
    """The nodes from `first` to before `end` as a graph.

    Its inputs are the values they read of earlier nodes; its outputs those that later nodes read,
    or the graph's outputs.
    """
    nodes = graph.nodes[first:end]
    written = {node.output for node in nodes}
    read = {name for node in nodes for name in node.inputs}
    inputs = [name for name in live_values(graph, first) if name in read]
    later = live_values(graph, end) if end < len(graph.nodes) else graph.outputs
    outputs = tuple(name for name in later if name in written)
    whole = msgspec.structs.replace(
        graph, inputs=_inputs(graph, inputs), nodes=nodes, outputs=outputs
    )
    return eliminate_dead_code(whole)


def live_values(graph: Graph, index: int) -> tuple[str, ...]:
    """Values that are live before the node at `index`: computed before it, read by it or later."""
    before = {value.name for value in graph.inputs}
    before |= {node.output for node in graph.nodes[:index]}
    read = [name for node in graph.nodes[index:] for name in node.inputs if name in before]
    return tuple(dict.fromkeys([*read, *(name for name in graph.outputs if name in before)]))


def node_index(graph: Graph, layer: str) -> int:
    return next(index for index, node in enumerate(graph.nodes) if node.name == layer)


def single_layer_graph(graph: Graph, node: Node) -> Graph:
    """One node as a graph."""
    inputs = tuple(dict.fromkeys(node.inputs))
    alone = msgspec.structs.replace(
        graph, inputs=_inputs(graph, inputs), nodes=(node,), outputs=(node.output,)
    )
    return eliminate_dead_code(alone)


def _inputs(graph: Graph, names: Sequence[str]) -> tuple[Value, ...]:
    own = {value.name: value for value in graph.inputs}
    shapes = graph.shapes()
    return tuple(
        own.get(name)
        or Value(name, shapes[name], "channels_first" if _is_image(shapes[name]) else "")
        for name in names
    )


def _is_image(shape: tuple[int, ...]) -> bool:
    return len(shape) == 3

"""Where each value lies in one piece of memory, so that what is not needed any more is reused."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from assay.native.graph import Graph, Node, Shape
from assay.native.ops import Activation, BatchNorm, Reshape
from assay.native.passes.layouts import Layout, layouts

ALIGN = 16  # floats: a cache line
BLOCK = 16  # channels of a blocked image are rounded up to so many


class Arena(msgspec.Struct, frozen=True):
    """Counted in floats of one item: all of it times the batch is the place in a batch."""

    size: int
    offsets: dict[str, int]  # of every value that a node writes; inputs lie elsewhere


class _Place(msgspec.Struct):
    """Values that share memory, alive from the first node that writes to the last that reads."""

    values: list[str]
    size: int
    first: int
    last: int


def plan_memory(graph: Graph, sizes: Mapping[str, int] | None = None) -> Arena:
    """Two values overlap only if one is dead before the other is written.

    Reshapes share their input's memory; an elementwise node writes over its input if it is its only
    reader. `sizes` in floats of one item; by default what the layouts need.
    """
    chosen = layouts(graph)
    needed = sizes if sizes is not None else _sizes(graph, chosen)
    offsets: dict[str, int] = {}
    settled: list[tuple[_Place, int]] = []
    for place in sorted(_places(graph, needed, chosen), key=lambda each: -each.size):
        offset = _lowest(place, settled)
        settled.append((place, offset))
        offsets |= dict.fromkeys(place.values, offset)
    size = max((offset + place.size for place, offset in settled), default=0)
    return Arena(size, offsets)


def _places(graph: Graph, sizes: Mapping[str, int], chosen: Mapping[str, Layout]) -> list[_Place]:
    last_read = _last_reads(graph)
    holder: dict[str, _Place] = {}
    for number, node in enumerate(graph.nodes):
        place = holder.get(node.inputs[0])
        if place is None or not _shares(node, place, number, chosen):
            place = _Place([], 0, number, number)
        place.values.append(node.output)
        place.size = max(place.size, -(-sizes[node.output] // ALIGN) * ALIGN)
        place.last = max(place.last, last_read.get(node.output, number))
        holder[node.output] = place
    return list({id(place): place for place in holder.values()}.values())


def _shares(node: Node, place: _Place, number: int, chosen: Mapping[str, Layout]) -> bool:
    """Its result may lie where its input does. Others must not read what it writes over."""
    if isinstance(node.op, Reshape):
        return True
    alike = chosen[node.inputs[0]] == chosen[node.output]
    return isinstance(node.op, Activation | BatchNorm) and alike and place.last <= number


def _last_reads(graph: Graph) -> dict[str, int]:
    """Node numbers; a graph's output is read after the last."""
    found = {name: number for number, node in enumerate(graph.nodes) for name in node.inputs}
    return found | dict.fromkeys(graph.outputs, len(graph.nodes))


def _lowest(place: _Place, settled: list[tuple[_Place, int]]) -> int:
    """The first gap that is wide enough among those alive at the same time."""
    offset = 0
    for other, start in sorted(settled, key=lambda each: each[1]):
        together = other.first <= place.last and place.first <= other.last
        if together and start < offset + place.size and offset < start + other.size:
            offset = start + other.size
    return offset


def _sizes(graph: Graph, chosen: Mapping[str, Layout]) -> dict[str, int]:
    return {name: _size(shape, chosen[name]) for name, shape in graph.shapes().items()}


def _size(shape: Shape, layout: Layout) -> int:
    if layout == "plain":
        return math.prod(shape)
    return -(-shape[0] // BLOCK) * BLOCK * math.prod(shape[1:])

"""How long each layer takes with each knob, on this machine and among its neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from assay.native.graph import Graph, Node
from assay.native.knobs.apply import Calibration, applied
from assay.native.knobs.table import BASELINE, KNOBS, Knob, why_not
from assay.native.ops import CastOp, ConvOp, DenseOp
from assay.native.toolchain import Toolchain
from assay.native.tuner.state import TuningState
from assay.native.variants import Variants, build_variants

INT8, HALF = 13, 12
ROUNDS = 2
CHOOSING = 0.3  # seconds for choosing kernels
Times = dict[str, dict[int, float]]  # seconds of one item, by layer and knob


def tuned_layers(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if isinstance(node.op, ConvOp | DenseOp)]


def timed_knobs(graph: Graph) -> tuple[int, ...]:
    """One of each kind that any layer can have: where the first row is left out costs no time."""
    kinds: dict[object, int] = {}
    for each in sorted(KNOBS.values(), key=lambda one: one.id):
        fits = any(not why_not(each, node, graph) for node in tuned_layers(graph))
        if each.id != BASELINE and fits and (each.runs == "yes" or each.id == HALF):
            kinds.setdefault(kind_of(each), each.id)
    return tuple(kinds.values())


def kind_of(each: Knob) -> tuple[str, tuple[float, ...]]:
    """Knobs that take the same time: those that differ in their offset alone."""
    counted = each.name.startswith(("perf", "samp"))
    return each.name, each.parameters[:-1] if counted else each.parameters


def everywhere(graph: Graph, number: int) -> dict[str, int]:
    """A knob for all layers that can have it; of bytes, so that those beside it are bytes too."""
    found = {}
    for node in tuned_layers(graph):
        if not why_not(KNOBS[number], node, graph):
            found[node.name] = number
        elif KNOBS[number].int8 and not why_not(KNOBS[INT8], node, graph):
            found[node.name] = INT8
    return found


def every_second(graph: Graph) -> dict[str, int]:
    """Bytes for every second layer, so that there is a cast between any two."""
    layers = [node for node in tuned_layers(graph) if not why_not(KNOBS[INT8], node, graph)]
    return {node.name: INT8 for node in layers[::2]}


class LayerLink(NamedTuple):
    """A layer that reads what another one made, and how many numbers that is."""

    first: str
    second: str
    size: int


def links(graph: Graph) -> list[LayerLink]:
    """Between layers, whatever stands between them; a sum is read by all who follow it."""
    makers: dict[str, tuple[str, int]] = {}  # of each value: the layer that made it, and its size
    found = []
    for node in graph.nodes:
        before = [makers[value] for value in node.inputs if value in makers]
        layer = node.name if isinstance(node.op, ConvOp | DenseOp) else ""
        maker = layer or next((name for name, _ in before), "")
        if maker:
            makers[node.output] = maker, math.prod(node.shape)
        found += [LayerLink(name, layer, size) for name, size in before if layer]
    return found


class TimingProgram:
    """A variant for each knob, in one program; a run of one tells the time of every layer. The last
    one has casts everywhere."""

    def __init__(
        self, graph: Graph, calibration: Calibration, tools: Toolchain, folder: Path
    ) -> None:
        quick = Calibration(calibration.values, correct=False)
        self.knobs = (BASELINE, *timed_knobs(graph))
        self._names = {node.name for node in tuned_layers(graph)}
        self._chosen = [everywhere(graph, number) for number in self.knobs]
        self._chosen.append(every_second(graph))
        self._graphs = [applied(graph, each, calibration=quick) for each in self._chosen]
        self._variants: Variants = build_variants(self._graphs, tools, folder)

    def seconds(self, place: int, batch: int) -> dict[str, float]:
        """Of each layer that has the knob, what follows it included."""
        told = self._variants.layer_seconds(place, batch, CHOOSING)
        whole = owned(self._graphs[place].nodes, told, self._names)
        knob = self.knobs[place]
        return {
            name: each
            for name, each in whole.items()
            if knob == BASELINE or self._chosen[place].get(name) == knob
        }

    def cast_seconds(self, batch: int) -> dict[str, float]:
        """Of all casts together: their time, and how many numbers they are of."""
        told = self._variants.layer_seconds(len(self.knobs), batch, CHOOSING)
        casts = [node for node in self._graphs[-1].nodes if isinstance(node.op, CastOp)]
        return {
            "seconds": sum(told.get(node.name, 0.0) for node in casts),
            "numbers": float(sum(math.prod(node.shape) for node in casts)),
        }


def times(
    program: TimingProgram, batch: int, state: TuningState, told: Callable[[int, int], None]
) -> Times:
    """The least of several rounds, in each of which every variant had its turn."""
    found: Times = {}
    count = ROUNDS * len(program.knobs)
    for number in range(count):
        place = number % len(program.knobs)
        took = state.numbers(f"times-{number}", partial(program.seconds, place, batch))
        for name, seconds in took.items():
            known = found.setdefault(name, {})
            knob = program.knobs[place]
            known[knob] = min(seconds, known.get(knob, seconds))
        told(number + 1, count)
    return found


def owned(
    nodes: Sequence[Node], seconds: Mapping[str, float], layers: set[str]
) -> dict[str, float]:
    """Every node's time, given to a layer: what follows a layer is its own, until the next.

    A knob may do the pooling that follows within the layer, so that both have to be counted.
    """
    found: dict[str, float] = {}
    first = next(node.name for node in nodes if _layer(node, layers))
    owner = _layer(next(node for node in nodes if node.name == first), layers)
    for node in nodes:
        owner = _layer(node, layers) or owner
        reader = _reader(node, nodes, layers) if isinstance(node.op, CastOp) else ""
        name = reader or owner
        found[name] = found.get(name, 0.0) + seconds.get(node.name, 0.0)
    return found


def _layer(node: Node, layers: set[str]) -> str:
    name = node.name.removesuffix("/narrow")
    return name if name in layers else ""


def _reader(node: Node, nodes: Sequence[Node], layers: set[str]) -> str:
    """The layer that a cast is made for."""
    readers = (each for each in nodes if node.output in each.inputs)
    return next((_layer(each, layers) for each in readers), "")

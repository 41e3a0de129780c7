"""How each knob of each layer, alone, moves the network's outputs."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from assay.native.graph import Array, Graph, Node
from assay.native.ops import ConvOp, DenseOp
from assay.native.run_program import write_items
from assay.native.subgraph import crossing, part, place_of
from assay.native.toolchain import Toolchain
from assay.native.tuner.candidates import KnobbedLayer
from assay.native.tuner.state import TuningState
from assay.native.variants import Variants, build_variants

RATE = 6e10  # multiply-adds a second of one core, about: how many pictures there is time for
SHARE = 0.2  # of the budget, for this
LARGEST = 400e6  # bytes of what is kept before a layer
FEWEST = 200  # pictures

Knobbed = Mapping[str, Sequence[KnobbedLayer]]


class Effects(NamedTuple):
    """Outputs on the pictures that knobs are chosen by."""

    exact: Array
    moved: dict[tuple[str, int], Array]  # by layer and knob


def pictures_there_is_time_for(graph: Graph, tried: Knobbed, budget: float, cores: int) -> int:
    """The same for the same budget, whatever else the machine does meanwhile."""
    work = [_work(node, graph) for node in graph.nodes]
    each = sum(sum(work[place_of(graph, name) :]) * len(made) for name, made in tried.items())
    shapes = graph.shapes()
    cuts = (crossing(graph, place_of(graph, name)) for name, made in tried.items() if made)
    largest = max((4 * sum(math.prod(shapes[n]) for n in names) for names in cuts), default=1)
    some = min(SHARE * budget * cores * RATE / max(each, 1), LARGEST / largest)
    return max(FEWEST, int(some))


class EffectsProgram:
    """All in one program: the network, its pieces between layers, and for each knob of a layer the
    network from there on."""

    def __init__(self, graph: Graph, tried: Knobbed, tools: Toolchain, folder: Path) -> None:
        self.layers = [name for name, made in tried.items() if made]
        self.tried = tried
        places = [0, *(place_of(graph, name) for name in self.layers[1:]), len(graph.nodes)]
        graphs = [graph]
        self._piece: dict[str, int] = {}
        self._rest: dict[tuple[str, int], int] = {}
        for name, start, end in zip(self.layers, places, places[1:], strict=False):
            if end < len(graph.nodes):
                self._piece[name] = len(graphs)
                graphs.append(part(graph, start, end))
            rest = part(graph, start, len(graph.nodes))
            for made in tried[name]:
                self._rest[name, made.knob] = len(graphs)
                graphs.append(_with(rest, name, made.graph))
        self._graphs = graphs
        self._variants: Variants = build_variants(graphs, tools, folder)

    def measured(
        self,
        items: Array,
        state: TuningState,
        threads: int,
        told: Callable[[int, int], None],
    ) -> Effects:
        values = {self._graphs[0].inputs[0].name: items}
        exact = state.array("exact", lambda: self._outputs(0, values, threads)[0])
        found = Effects(exact, {})
        for name in self.layers:
            knobs = [made.knob for made in self.tried[name]]
            with tempfile.TemporaryDirectory(prefix="assay-tune-") as folder:
                numbers = [self._rest[name, knob] for knob in knobs]
                if not all(state.has(_key(name, knob)) for knob in knobs):
                    self._write(numbers[0], values, Path(folder))
                for knob, number in zip(knobs, numbers, strict=True):
                    outputs = state.array(
                        _key(name, knob),
                        partial(self._variants.first, number, Path(folder), threads),
                    )
                    found.moved[name, knob] = outputs - exact
                    told(len(found.moved), len(self._rest))
            self._advance(name, values, threads)
        return found

    def _advance(self, name: str, values: dict[str, Array], threads: int) -> None:
        """To what the next layer that is tried reads."""
        if name not in self._piece:
            return
        number = self._piece[name]
        outputs = self._outputs(number, values, threads)
        values.update(zip(self._graphs[number].outputs, outputs, strict=True))
        following = self.layers[self.layers.index(name) + 1]
        rest = self._graphs[self._rest[following, self.tried[following][0].knob]]
        wanted = {value.name for value in rest.inputs}
        for kept in set(values) - wanted:
            del values[kept]

    def _outputs(self, number: int, values: Mapping[str, Array], threads: int) -> list[Array]:
        with tempfile.TemporaryDirectory(prefix="assay-tune-") as folder:
            self._write(number, values, Path(folder))
            return self._variants.outputs(number, Path(folder), threads)

    def _write(self, number: int, values: Mapping[str, Array], folder: Path) -> None:
        items = [values[value.name] for value in self._graphs[number].inputs]
        write_items(folder, self._variants.parts[number], items)


def _with(rest: Graph, name: str, alone: Graph) -> Graph:
    """The graph with a layer computed as `alone` says."""
    nodes: list[Node] = []
    for node in rest.nodes:
        nodes += alone.nodes if node.name == name else [node]
    constants = {**rest.constants, **alone.constants}
    return msgspec.structs.replace(rest, nodes=tuple(nodes), constants=constants)


def _key(name: str, knob: int) -> str:
    return f"moved-{knob}-{''.join(c if c.isalnum() else '_' for c in name)}"


def _work(node: Node, graph: Graph) -> float:
    if not isinstance(node.op, ConvOp | DenseOp):
        return 0.0
    weight = graph.constants[node.op.weight]
    places = math.prod(node.shape[1:]) if isinstance(node.op, ConvOp) else 1
    return float(np.prod(weight.shape) * places)

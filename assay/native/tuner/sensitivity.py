"""Sensitivity: change of the network's outputs by each knob of each layer alone."""

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
from assay.native.subgraph import extract_nodes, live_values, node_index
from assay.native.toolchain import Toolchain
from assay.native.tuner.candidates import KnobbedLayer
from assay.native.tuner.state import TuningState
from assay.native.variants import Variants, build_variants

RATE = 6e10  # approximate multiply-adds per second of one core
SHARE = 0.2  # of the budget
MAX_BYTES = 400e6  # bytes of stored values before a layer
MIN_IMAGES = 200

Knobbed = Mapping[str, Sequence[KnobbedLayer]]


class Effects(NamedTuple):
    """Outputs on the images of the search."""

    exact: Array
    deltas: dict[tuple[str, int], Array]  # by layer and knob


def image_count_for_budget(graph: Graph, tried: Knobbed, budget: float, cores: int) -> int:
    """Number of images for the budget, independent of the machine's load."""
    work = [_work(node, graph) for node in graph.nodes]
    cost = sum(sum(work[node_index(graph, name) :]) * len(layers) for name, layers in tried.items())
    shapes = graph.shapes()
    values = (
        live_values(graph, node_index(graph, name)) for name, layers in tried.items() if layers
    )
    largest = max((4 * sum(math.prod(shapes[n]) for n in names) for names in values), default=1)
    count = min(SHARE * budget * cores * RATE / max(cost, 1), MAX_BYTES / largest)
    return max(MIN_IMAGES, int(count))


class EffectsProgram:
    """A program of the network, its parts between layers, and for each knob of a layer the network
    from there on."""

    def __init__(self, graph: Graph, tried: Knobbed, tools: Toolchain, folder: Path) -> None:
        self.layers = [name for name, candidate in tried.items() if candidate]
        self.tried = tried
        positions = [0, *(node_index(graph, name) for name in self.layers[1:]), len(graph.nodes)]
        graphs = [graph]
        self._piece: dict[str, int] = {}
        self._rest: dict[tuple[str, int], int] = {}
        for name, start, end in zip(self.layers, positions, positions[1:], strict=False):
            if end < len(graph.nodes):
                self._piece[name] = len(graphs)
                graphs.append(extract_nodes(graph, start, end))
            rest = extract_nodes(graph, start, len(graph.nodes))
            for candidate in tried[name]:
                self._rest[name, candidate.knob] = len(graphs)
                graphs.append(_replace_layer(rest, name, candidate.graph))
        self._graphs = graphs
        self._variants: Variants = build_variants(graphs, tools, folder)

    def measure(
        self, items: Array, state: TuningState, threads: int, report: Callable[[int, int], None]
    ) -> Effects:
        values = {self._graphs[0].inputs[0].name: items}
        exact = state.array("exact", lambda: self._outputs(0, values, threads)[0])
        effects = Effects(exact, {})
        for name in self.layers:
            knobs = [candidate.knob for candidate in self.tried[name]]
            with tempfile.TemporaryDirectory(prefix="assay-tune-") as folder:
                numbers = [self._rest[name, knob] for knob in knobs]
                if not all(state.has(_key(name, knob)) for knob in knobs):
                    self._write(numbers[0], values, Path(folder))
                for knob, number in zip(knobs, numbers, strict=True):
                    outputs = state.array(
                        _key(name, knob),
                        partial(self._variants.first, number, Path(folder), threads),
                    )
                    effects.deltas[name, knob] = outputs - exact
                    report(len(effects.deltas), len(self._rest))
            self._advance(name, values, threads)
        return effects

    def _advance(self, name: str, values: dict[str, Array], threads: int) -> None:
        """Compute the inputs of the next layer with candidates."""
        if name not in self._piece:
            return
        number = self._piece[name]
        outputs = self._outputs(number, values, threads)
        values.update(zip(self._graphs[number].outputs, outputs, strict=True))
        following = self.layers[self.layers.index(name) + 1]
        rest = self._graphs[self._rest[following, self.tried[following][0].knob]]
        needed = {value.name for value in rest.inputs}
        for unused in set(values) - needed:
            del values[unused]

    def _outputs(self, number: int, values: Mapping[str, Array], threads: int) -> list[Array]:
        with tempfile.TemporaryDirectory(prefix="assay-tune-") as folder:
            self._write(number, values, Path(folder))
            return self._variants.outputs(number, Path(folder), threads)

    def _write(self, number: int, values: Mapping[str, Array], folder: Path) -> None:
        items = [values[value.name] for value in self._graphs[number].inputs]
        write_items(folder, self._variants.parts[number], items)


def _replace_layer(rest: Graph, name: str, replacement: Graph) -> Graph:
    """The graph with a layer replaced."""
    nodes: list[Node] = []
    for node in rest.nodes:
        nodes += replacement.nodes if node.name == name else [node]
    constants = {**rest.constants, **replacement.constants}
    return msgspec.structs.replace(rest, nodes=tuple(nodes), constants=constants)


def _key(name: str, knob: int) -> str:
    return f"moved-{knob}-{''.join(c if c.isalnum() else '_' for c in name)}"


def _work(node: Node, graph: Graph) -> float:
    if not isinstance(node.op, ConvOp | DenseOp):
        return 0.0
    weight = graph.constants[node.op.weight]
    positions = math.prod(node.shape[1:]) if isinstance(node.op, ConvOp) else 1
    return float(np.prod(weight.shape) * positions)

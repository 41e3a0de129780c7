"""Time of each layer with each knob, measured within the network."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from assay.native.graph import Graph, Node
from assay.native.knobs.apply import Calibration, apply_knobs
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
    """One knob of each kind that fits a layer: offsets do not change the time.

    Samplings are corrected ones, which take the same time as HPVM's and lose less.
    """
    kinds: dict[object, int] = {}
    for candidate in sorted(KNOBS.values(), key=lambda candidate: candidate.id):
        if candidate.id == BASELINE or candidate.name == "samp":
            continue
        fits = any(not why_not(candidate, node, graph) for node in tuned_layers(graph))
        if fits and (candidate.runs == "yes" or candidate.id == HALF):
            kinds.setdefault(kind_of(candidate), candidate.id)
    return tuple(kinds.values())


def kind_of(candidate: Knob) -> tuple[str, tuple[float, ...]]:
    """Key of knobs with equal time: those that differ only in their offset."""
    has_offset = candidate.name.startswith(("perf", "samp"))
    return candidate.name, candidate.parameters[:-1] if has_offset else candidate.parameters


def knob_on_all_layers(graph: Graph, number: int) -> dict[str, int]:
    """A knob on all layers that it fits; for int8 knobs, plain int8 on the others."""
    knobs = {}
    for node in tuned_layers(graph):
        if not why_not(KNOBS[number], node, graph):
            knobs[node.name] = number
        elif KNOBS[number].int8 and not why_not(KNOBS[INT8], node, graph):
            knobs[node.name] = INT8
    return knobs


def alternate_int8(graph: Graph) -> dict[str, int]:
    """Int8 on every second layer, so that there is a cast between any two."""
    layers = [node for node in tuned_layers(graph) if not why_not(KNOBS[INT8], node, graph)]
    return {node.name: INT8 for node in layers[::2]}


class LayerLink(NamedTuple):
    """A layer that reads another layer's output, and the output's size."""

    first: str
    second: str
    size: int


def links(graph: Graph) -> list[LayerLink]:
    """Links between layers, across other operations."""
    producers: dict[str, tuple[str, int]] = {}  # of each value: its layer and size
    result = []
    for node in graph.nodes:
        layers = [producers[value] for value in node.inputs if value in producers]
        layer = node.name if isinstance(node.op, ConvOp | DenseOp) else ""
        producer = layer or next((name for name, _ in layers), "")
        if producer:
            producers[node.output] = producer, math.prod(node.shape)
        result += [LayerLink(name, layer, size) for name, size in layers if layer]
    return result


class TimingProgram:
    """A program with a variant for each knob, which measures every layer; the last variant has
    casts everywhere."""

    def __init__(
        self, graph: Graph, calibration: Calibration, tools: Toolchain, folder: Path
    ) -> None:
        quick = Calibration(calibration.values, correct=False)
        self.knobs = (BASELINE, *timed_knobs(graph))
        self._names = {node.name for node in tuned_layers(graph)}
        self._knobs_by_layer = [knob_on_all_layers(graph, number) for number in self.knobs]
        self._knobs_by_layer.append(alternate_int8(graph))
        self._graphs = [
            apply_knobs(graph, knobs, calibration=quick) for knobs in self._knobs_by_layer
        ]
        self._variants: Variants = build_variants(self._graphs, tools, folder)

    def seconds(self, variant: int, batch: int) -> dict[str, float]:
        """Time of each layer that has the knob, with the operations after it."""
        seconds = self._variants.layer_seconds(variant, batch, CHOOSING)
        by_layer = attribute_to_layers(self._graphs[variant].nodes, seconds, self._names)
        knob = self.knobs[variant]
        return {
            name: duration
            for name, duration in by_layer.items()
            if knob == BASELINE or self._knobs_by_layer[variant].get(name) == knob
        }

    def cast_seconds(self, batch: int) -> dict[str, float]:
        """Total time of all casts, and the number of elements."""
        seconds = self._variants.layer_seconds(len(self.knobs), batch, CHOOSING)
        casts = [node for node in self._graphs[-1].nodes if isinstance(node.op, CastOp)]
        return {
            "seconds": sum(seconds.get(node.name, 0.0) for node in casts),
            "numbers": float(sum(math.prod(node.shape) for node in casts)),
        }


def times(
    program: TimingProgram,
    batch: int,
    state: TuningState,
    report: Callable[[int, int], None],
    has_time: Callable[[], bool] = lambda: True,
) -> Times:
    """The minimum of several rounds, each over all variants; of one, if there is no time."""
    result: Times = {}
    count = ROUNDS * len(program.knobs)
    for number in range(count):
        variant = number % len(program.knobs)
        if number and not variant and not has_time():
            break
        measured = state.numbers(f"times-{number}", partial(program.seconds, variant, batch))
        for name, seconds in measured.items():
            layer_times = result.setdefault(name, {})
            knob = program.knobs[variant]
            layer_times[knob] = min(seconds, layer_times.get(knob, seconds))
        report(number + 1, count)
    return result


def attribute_to_layers(
    nodes: Sequence[Node], seconds: Mapping[str, float], layers: set[str]
) -> dict[str, float]:
    """Attribute every node's time to a layer: that before it, or for a cast that after it.

    A knob may fuse the following pool into the layer, so both are counted.
    """
    result: dict[str, float] = {}
    first = next(node.name for node in nodes if _layer(node, layers))
    owner = _layer(next(node for node in nodes if node.name == first), layers)
    for node in nodes:
        owner = _layer(node, layers) or owner
        reader = _reader(node, nodes, layers) if isinstance(node.op, CastOp) else ""
        name = reader or owner
        result[name] = result.get(name, 0.0) + seconds.get(node.name, 0.0)
    return result


def _layer(node: Node, layers: set[str]) -> str:
    name = node.name.removesuffix("/narrow")
    return name if name in layers else ""


def _reader(node: Node, nodes: Sequence[Node], layers: set[str]) -> str:
    """The layer that reads a cast."""
    readers = (reader for reader in nodes if node.output in reader.inputs)
    return next((_layer(reader, layers) for reader in readers), "")

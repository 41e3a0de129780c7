"""A graph with knobs: the same graph, whose layers are computed with less work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from assay.core.errors import UsageError
from assay.native import reference
from assay.native.graph import Array, Graph, Node
from assay.native.kernels import layer_named
from assay.native.knobs.int8_chains import over_bytes, whole_layer
from assay.native.knobs.simulated import fewer_terms, promise
from assay.native.knobs.table import BASELINE, Knob, knob, why_not
from assay.native.operations.definition import padded
from assay.native.ops import ConvOp, DenseOp
from assay.native.passes.pipeline import drop_dead
from assay.native.passes.rewrite import rewritten, unused

Knobs = Mapping[str, int]  # of layers, by any name that `layer_named` knows


def applied(
    graph: Graph,
    knobs: Knobs,
    items: Sequence[Array] = (),
    calibration: Calibration | None = None,
) -> Graph:
    """An optimized graph with these knobs; layers that are not named stay as they are.

    `items` is a batch for each input. Knobs of int8 need one to find the ranges of bytes, and the
    more it is like what will come, the less is lost; where terms are left out or a rank is lowered,
    the other weights are corrected on it. Who applies many knobs gives a `calibration` instead,
    and what was found once is not computed again.
    """
    chosen = _chosen(graph, knobs)
    if not chosen:
        return graph
    layers = {name for name, found in chosen.items() if found.int8}
    ranged = [each.name for each in chosen.values() if each.ranged]
    if ranged and not items and not calibration:
        raise UsageError(
            f"{len(ranged)} layers of {graph.name} are to be {ranged[0]}, but there are no items "
            "to find their ranges from.",
            hint="Give some of the model's inputs.",
        )
    seen = any(found.calibrated for found in chosen.values())
    values = reference.computed(graph, *items) if items and seen and not calibration else {}
    known = calibration or Calibration(values)
    made: dict[str, Array] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        found = chosen.get(node.name)
        nodes += _changed(node, found, Changing(graph, known, made)) if found else [node]
    changed = rewritten(graph, nodes, made)
    return drop_dead(over_bytes(changed, layers, known.values) if layers else changed)


class Calibration:
    """Every value of a graph for some items, by name, and what was found from them.

    Without `correct`, weights stay as they are: that is quick, and enough to be timed.
    """

    def __init__(self, values: Mapping[str, Array], correct: bool = True) -> None:
        self.values, self._correct = values, correct
        self._moments: dict[str, Array] = {}
        self.sampled: dict[tuple[str, int], Array] = {}  # weights, by layer and knob

    def moments(self, node: Node, op: ConvOp | DenseOp, weight: Array) -> Array | None:
        if not self._correct or node.input not in self.values:
            return None
        if node.name not in self._moments:
            self._moments[node.name] = moments(op, weight, self.values[node.input])
        return self._moments[node.name]


class Changing(NamedTuple):
    """What a layer is changed by, and where its new weights go."""

    graph: Graph
    calibration: Calibration
    made: dict[str, Array]

    def moments(self, node: Node, op: ConvOp | DenseOp) -> Array | None:
        return self.calibration.moments(node, op, self.graph.constants[op.weight])


def _chosen(graph: Graph, knobs: Knobs) -> dict[str, Knob]:
    """By the names of the nodes; a knob that cannot be had is told with its layer."""
    found = {}
    for layer, number in knobs.items():
        wanted, node = knob(number), node_named(graph, layer)
        if why := why_not(wanted, node, graph):
            raise UsageError(
                f"The knob {number} ({wanted.name}) does not fit '{layer}': {why}.",
                hint=f"{BASELINE} leaves it as it is.",
            )
        if wanted.id != BASELINE:
            found[node.name] = wanted
    return found


def node_named(graph: Graph, layer: str) -> Node:
    """The node of this name, or the layer that this operation of the model became part of."""
    named = (node for node in graph.nodes if node.name == layer)
    return next(named, None) or layer_named(graph, layer)


def _changed(node: Node, found: Knob, by: Changing) -> list[Node]:
    """All but what bytes change."""
    if found.name == "swing_level":
        return promise(node, int(found.parameters[0]), by.graph, by.calibration.values, by.made)
    if found.name == "red_samp":
        return fewer_terms(node, found.parameters[0], found.half, by.graph, by.made)
    op = node.op
    assert isinstance(op, ConvOp | DenseOp)
    weight = by.graph.constants[op.weight]
    if found.name == "weight_int8":
        return [whole_layer(node, op, weight, by.made)]
    if found.name == "low_rank":
        return _split(node, op, found.parameters[0], by)
    if isinstance(op, ConvOp) and found.name.startswith("perf"):
        rows, columns, offset = map(int, found.parameters)
        op = msgspec.structs.replace(op, perforation=(rows, columns, offset))
    if isinstance(op, ConvOp) and found.name.startswith("samp"):
        weight = _fewer(node, op, found, by)
        op = msgspec.structs.replace(op, sampled=True)
    if found.half:
        weight = weight.astype(np.float16).astype(np.float32)
    name = f"{node.name}/knob{found.id}"
    by.made[name] = weight
    return [msgspec.structs.replace(node, op=msgspec.structs.replace(op, weight=name))]


def _fewer(node: Node, op: ConvOp, found: Knob, by: Changing) -> Array:
    """Without a calibration set, what is left is made larger by one factor, as HPVM does."""
    known, key = by.calibration.sampled, (node.name, found.id)
    if key not in known:
        weight = by.graph.constants[op.weight]
        every, offset = map(int, found.parameters)
        second = by.moments(node, op)
        dropped = left_out(weight.shape[1:], every, offset)
        known[key] = (
            sampled(weight, every, offset)
            if second is None or dropped.all()
            else corrected(weight, dropped, second)
        )
    return known[key]


def _split(node: Node, op: ConvOp | DenseOp, share: float, by: Changing) -> list[Node]:
    """Two layers in place of one: through fewer channels, then to as many as there were."""
    weight = by.graph.constants[op.weight]
    parts = low_rank(weight.reshape(weight.shape[:2]), share, by.moments(node, op))
    names = (f"{node.name}/narrow", f"{node.name}/wide")
    shape = weight.shape[2:]
    for name, part in zip(names, parts, strict=True):
        by.made[name] = np.ascontiguousarray(part.reshape(*part.shape, *shape))
    first = msgspec.structs.replace(op, weight=names[0], bias="", post=())
    second = msgspec.structs.replace(op, weight=names[1])
    if isinstance(second, ConvOp):  # strides and padding are done already
        second = msgspec.structs.replace(second, strides=(1, 1), pads=(0, 0, 0, 0))
    middle = unused(f"{node.output}/narrow", by.graph)
    return [
        msgspec.structs.replace(
            node, name=names[0], op=first, inputs=node.inputs[:1], output=middle, sources=()
        ),
        msgspec.structs.replace(node, op=second, inputs=(middle, *node.inputs[1:])),
    ]


SAMPLES = 4000  # places that are looked at
RIDGE = 1e-2  # of the mean square of a term: what the samples do not tell stays as it was


def moments(op: ConvOp | DenseOp, weight: Array, values: Array) -> Array:
    """The mean product of each two terms (in, height, width) that a filter multiplies."""
    seen = (
        values.reshape(-1, values.shape[-1])
        if isinstance(op, DenseOp)
        else _patches(op, weight, values)
    )
    seen = seen[:: max(1, len(seen) // SAMPLES)].astype(np.float32)
    found: Array = (seen.T @ seen).astype(np.float64) / len(seen)
    return found


def corrected(weight: Array, dropped: Array, second: Array) -> Array:
    """The weight without the terms `dropped`, the others taking over what can be told by them."""
    flat = weight.reshape(len(weight), -1).astype(np.float64)
    out, kept = dropped.reshape(-1), ~dropped.reshape(-1)
    inner = second[np.ix_(kept, kept)]
    inner += RIDGE * np.trace(inner) / len(inner) * np.eye(len(inner))
    taken = np.linalg.solve(inner, second[np.ix_(kept, out)] @ flat[:, out].T)
    made = np.zeros_like(flat)
    made[:, kept] = flat[:, kept] + taken.T
    return made.reshape(weight.shape).astype(np.float32)


def low_rank(weight: Array, share: float, second: Array | None) -> tuple[Array, Array]:
    """Two matrices whose product is nearest to the weight (out, in), on inputs of these moments."""
    rank = max(1, round(share * min(weight.shape)))
    matrix = weight.astype(np.float64)
    inputs = np.eye(weight.shape[1])
    if second is not None:
        inputs = second + RIDGE * np.trace(second) / len(second) * inputs
    spread = matrix @ inputs @ matrix.T
    basis = np.linalg.eigh(spread)[1][:, ::-1][:, :rank]
    return (basis.T @ matrix).astype(np.float32), basis.astype(np.float32)


def _patches(op: ConvOp, weight: Array, values: Array) -> Array:
    """What each output pixel is made of, of some of them."""
    high, wide = weight.shape[2:]
    reach = ((high - 1) * op.dilations[0] + 1, (wide - 1) * op.dilations[1] + 1)
    whole = padded(values, op.pads, 0)
    windows = np.lib.stride_tricks.sliding_window_view(whole, reach, (2, 3))
    windows = windows[
        :, :, :: op.strides[0], :: op.strides[1], :: op.dilations[0], :: op.dilations[1]
    ]
    images, channels, down, across = windows.shape[:4]
    step = max(1, images * down * across // SAMPLES)
    places = np.arange(0, images * down * across, step)
    image, place = places // (down * across), places % (down * across)
    found: Array = windows[image, :, place // across, place % across]
    return found.reshape(len(places), channels * high * wide)


def left_out(shape: tuple[int, ...], every: int, offset: int) -> Array:
    """Which terms of a filter (channels, height, width), as HPVM counts them.

    Where the window's size is a multiple of `every`, each channel loses the same number of terms,
    shifted by one from channel to channel; else terms are counted through the whole filter.
    """
    channels, window = shape[0], int(np.prod(shape[1:]))
    if window % every:
        flat = np.arange(channels * window)
        dropped: Array = (flat >= offset) & ((flat - offset) % every == 0)
        return dropped.reshape(shape)
    local, channel = np.arange(window), np.arange(channels)[:, None]
    found: Array = (local % every == (offset + channel) % every).reshape(shape)
    return found


def sampled(weight: Array, every: int, offset: int) -> Array:
    """A weight (out, in, height, width) whose terms left out are 0."""
    dropped = left_out(weight.shape[1:], every, offset)
    return np.where(dropped, 0, weight * (every / (every - 1))).astype(np.float32)

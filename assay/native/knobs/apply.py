"""Apply knobs to a graph: its layers are then computed approximately, with less work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from assay.core.errors import UsageError
from assay.native import reference
from assay.native.graph import Array, Graph, Node
from assay.native.kernels import find_layer
from assay.native.knobs.int8_chains import quantize_layer_weights, quantize_layers
from assay.native.knobs.simulated import promise, sample_pool
from assay.native.knobs.table import BASELINE, Knob, knob, why_not
from assay.native.operations.definition import pad_borders
from assay.native.ops import ConvOp, DenseOp
from assay.native.passes.pipeline import eliminate_dead_code
from assay.native.passes.rewrite import replace_nodes, unused_name

Knobs = Mapping[str, int]  # of layers, by any name that `layer_named` knows


def apply_knobs(
    graph: Graph, knobs: Knobs, items: Sequence[Array] = (), calibration: Calibration | None = None
) -> Graph:
    """Apply these knobs to an optimized graph; other layers stay as they are.

    `items` is a batch for each input, as representative as possible. Int8 knobs need it to
    calibrate ranges, corrected samplings and low rank to correct weights. Pass a `calibration`
    instead to apply many knobs without computing it again.
    """
    selection = _find_knobs(graph, knobs)
    if not selection:
        return graph
    layers = {name for name, choice in selection.items() if choice.int8}
    names = [choice.name for choice in selection.values() if choice.needs_calibration]
    if names and not items and not calibration:
        raise UsageError(
            f"{len(names)} layers of {graph.name} are to be {names[0]}, but there are no items "
            "to calibrate them.",
            hint="Give some of the model's inputs.",
        )
    calibrated = any(choice.uses_calibration for choice in selection.values())
    values = (
        reference.compute_values(graph, *items) if items and calibrated and not calibration else {}
    )
    data = calibration or Calibration(values)
    constants: dict[str, Array] = {}
    nodes: list[Node] = []
    rewrite = Rewrite(graph, data, constants)
    for node in graph.nodes:
        choice = selection.get(node.name)
        nodes += _apply_knob(node, choice, rewrite) if choice else [node]
    changed = replace_nodes(graph, nodes, constants)
    return eliminate_dead_code(quantize_layers(changed, layers, data.values) if layers else changed)


class Calibration:
    """Every value of a graph for some items, by name, and the moments computed from them.

    Without `correct`, weights are not corrected: faster, and sufficient for timing.
    """

    def __init__(self, values: Mapping[str, Array], correct: bool = True) -> None:
        self.values, self._correct = values, correct
        self._moments: dict[str, Array] = {}
        self.sampled_weights: dict[tuple[str, int], Array] = {}  # weights, by layer and knob

    def moments(self, node: Node, op: ConvOp | DenseOp, weight: Array) -> Array | None:
        if not self._correct or node.input not in self.values:
            return None
        if node.name not in self._moments:
            self._moments[node.name] = moments(op, weight, self.values[node.input])
        return self._moments[node.name]


class Rewrite(NamedTuple):
    """The graph, its calibration and the new constants, `made`."""

    graph: Graph
    calibration: Calibration
    constants: dict[str, Array]

    def moments(self, node: Node, op: ConvOp | DenseOp) -> Array | None:
        return self.calibration.moments(node, op, self.graph.constants[op.weight])


def _find_knobs(graph: Graph, knobs: Knobs) -> dict[str, Knob]:
    """Knobs by node; raises where a knob does not fit its layer."""
    result = {}
    for layer, number in knobs.items():
        choice, node = knob(number), find_node(graph, layer)
        if reason := why_not(choice, node, graph):
            raise UsageError(
                f"The knob {number} ({choice.name}) does not fit '{layer}': {reason}.",
                hint=f"{BASELINE} leaves it as it is.",
            )
        if choice.id != BASELINE:
            result[node.name] = choice
    return result


def find_node(graph: Graph, layer: str) -> Node:
    """The node of this name, or the layer that this operation of the model is in."""
    nodes = (node for node in graph.nodes if node.name == layer)
    return next(nodes, None) or find_layer(graph, layer)


def _apply_knob(node: Node, choice: Knob, rewrite: Rewrite) -> list[Node]:
    """The nodes for one knob; `over_bytes` does the int8 part."""
    if choice.name == "swing_level":
        return promise(
            node,
            int(choice.parameters[0]),
            rewrite.graph,
            rewrite.calibration.values,
            rewrite.constants,
        )
    if choice.name == "red_samp":
        return sample_pool(
            node, choice.parameters[0], choice.half, rewrite.graph, rewrite.constants
        )
    op = node.op
    assert isinstance(op, ConvOp | DenseOp)
    weight = rewrite.graph.constants[op.weight]
    if choice.name == "weight_int8":
        return [quantize_layer_weights(node, op, weight, rewrite.constants)]
    if choice.name == "low_rank":
        return _low_rank_layers(node, op, choice.parameters[0], rewrite)
    if isinstance(op, ConvOp) and choice.name.startswith("perf"):
        rows, columns, offset = map(int, choice.parameters)
        op = msgspec.structs.replace(op, perforation=(rows, columns, offset))
    if isinstance(op, ConvOp) and choice.name.startswith("samp"):
        weight = _sample_terms(node, op, choice, rewrite)
        op = msgspec.structs.replace(op, sampled=True)
    if choice.half:
        weight = weight.astype(np.float16).astype(np.float32)
    name = f"{node.name}/knob{choice.id}"
    rewrite.constants[name] = weight
    return [msgspec.structs.replace(node, op=msgspec.structs.replace(op, weight=name))]


def _sample_terms(node: Node, op: ConvOp, choice: Knob, rewrite: Rewrite) -> Array:
    """Skip terms of a filter; the others are corrected by the knob, or scaled as by HPVM."""
    cache, key = rewrite.calibration.sampled_weights, (node.name, choice.id)
    if key not in cache:
        weight = rewrite.graph.constants[op.weight]
        every, offset = map(int, choice.parameters)
        second = rewrite.moments(node, op) if choice.corrected else None
        mask = skip_mask(weight.shape[1:], every, offset)
        cache[key] = (
            sample_weight(weight, every, offset)
            if second is None or mask.all()
            else correct_weight(weight, mask, second)
        )
    return cache[key]


def _low_rank_layers(
    node: Node, op: ConvOp | DenseOp, share: float, rewrite: Rewrite
) -> list[Node]:
    """Low rank: replace a layer by two, through fewer channels."""
    weight = rewrite.graph.constants[op.weight]
    parts = low_rank(weight.reshape(weight.shape[:2]), share, rewrite.moments(node, op))
    names = (f"{node.name}/narrow", f"{node.name}/wide")
    shape = weight.shape[2:]
    for name, part in zip(names, parts, strict=True):
        rewrite.constants[name] = np.ascontiguousarray(part.reshape(*part.shape, *shape))
    first = msgspec.structs.replace(op, weight=names[0], bias="", post=())
    second = msgspec.structs.replace(op, weight=names[1])
    if isinstance(second, ConvOp):  # strides and padding are done already
        second = msgspec.structs.replace(second, strides=(1, 1), pads=(0, 0, 0, 0))
    middle = unused_name(f"{node.output}/narrow", rewrite.graph)
    return [
        msgspec.structs.replace(
            node, name=names[0], op=first, inputs=node.inputs[:1], output=middle, sources=()
        ),
        msgspec.structs.replace(node, op=second, inputs=(middle, *node.inputs[1:])),
    ]


SAMPLES = 4000  # positions
RIDGE = 1e-2  # regularization, as a share of the mean square of a term


def moments(op: ConvOp | DenseOp, weight: Array, values: Array) -> Array:
    """Second moments of the terms (in, height, width) that a filter multiplies."""
    samples = (
        values.reshape(-1, values.shape[-1])
        if isinstance(op, DenseOp)
        else _patches(op, weight, values)
    )
    samples = samples[:: max(1, len(samples) // SAMPLES)].astype(np.float32)
    result: Array = (samples.T @ samples).astype(np.float64) / len(samples)
    return result


def correct_weight(weight: Array, mask: Array, second: Array) -> Array:
    """Remove the masked terms; the others are corrected by least squares."""
    flat = weight.reshape(len(weight), -1).astype(np.float64)
    removed, remaining = mask.reshape(-1), ~mask.reshape(-1)
    inner = second[np.ix_(remaining, remaining)]
    inner += RIDGE * np.trace(inner) / len(inner) * np.eye(len(inner))
    update = np.linalg.solve(inner, second[np.ix_(remaining, removed)] @ flat[:, removed].T)
    result = np.zeros_like(flat)
    result[:, remaining] = flat[:, remaining] + update.T
    return result.reshape(weight.shape).astype(np.float32)


def low_rank(weight: Array, share: float, second: Array | None) -> tuple[Array, Array]:
    """Best low-rank approximation of the weight (out, in), for inputs of these moments."""
    rank = max(1, round(share * min(weight.shape)))
    matrix = weight.astype(np.float64)
    inputs = np.eye(weight.shape[1])
    if second is not None:
        inputs = second + RIDGE * np.trace(second) / len(second) * inputs
    covariance = matrix @ inputs @ matrix.T
    basis = np.linalg.eigh(covariance)[1][:, ::-1][:, :rank]
    return (basis.T @ matrix).astype(np.float32), basis.astype(np.float32)


def _patches(op: ConvOp, weight: Array, values: Array) -> Array:
    """im2col: the input patches of a sample of the output pixels."""
    high, wide = weight.shape[2:]
    reach = ((high - 1) * op.dilations[0] + 1, (wide - 1) * op.dilations[1] + 1)
    image = pad_borders(values, op.pads, 0)
    windows = np.lib.stride_tricks.sliding_window_view(image, reach, (2, 3))
    windows = windows[
        :, :, :: op.strides[0], :: op.strides[1], :: op.dilations[0], :: op.dilations[1]
    ]
    images, channels, down, across = windows.shape[:4]
    step = max(1, images * down * across // SAMPLES)
    positions = np.arange(0, images * down * across, step)
    item, pixel = positions // (down * across), positions % (down * across)
    patches: Array = windows[item, :, pixel // across, pixel % across]
    return patches.reshape(len(positions), channels * high * wide)


def skip_mask(shape: tuple[int, ...], every: int, offset: int) -> Array:
    """Mask of the terms of a filter (channels, height, width) that are skipped, as in HPVM.

    If the window's size is a multiple of `every`, each channel loses the same number of terms,
    shifted by one from channel to channel; else terms are counted through the whole filter.
    """
    channels, window = shape[0], int(np.prod(shape[1:]))
    if window % every:
        flat = np.arange(channels * window)
        mask: Array = (flat >= offset) & ((flat - offset) % every == 0)
        return mask.reshape(shape)
    local, channel = np.arange(window), np.arange(channels)[:, None]
    result: Array = (local % every == (offset + channel) % every).reshape(shape)
    return result


def sample_weight(weight: Array, every: int, offset: int) -> Array:
    """A weight (out, in, height, width) whose skipped terms are 0."""
    mask = skip_mask(weight.shape[1:], every, offset)
    return np.where(mask, 0, weight * (every / (every - 1))).astype(np.float32)

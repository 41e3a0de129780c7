"""Simulated knobs: results of other hardware, without its speed.

PROMISE is an analog accelerator of HPVM: inputs and outputs of a layer have 256 levels, and its
inputs are noisy, the more the lower the voltage swing. Reduction sampling averages over a sample.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from assay.native.activations import apply_activation
from assay.native.graph import Array, Graph, Node
from assay.native.ops import (
    ActivationOp,
    BinaryOp,
    ConstantOp,
    ConvOp,
    DenseOp,
    GlobalPoolOp,
    PoolOp,
    ReshapeOp,
)
from assay.native.passes.rewrite import unused_name

# Relative standard deviation of an input's noise, by swing from 0 on, as in HPVM.
NOISE = (0.75, 0.64, 0.336, 0.21, 0.168, 0.14, 0.11, 0.0784)
CUT = 0.1  # percent clipped at each end of a range, as in HPVM


def quantize(values: Array) -> ActivationOp:
    """Quantization to 256 levels over a percentile range of these values."""
    low, high = (float(np.float32(bound)) for bound in np.percentile(values, (CUT, 100 - CUT)))
    return ActivationOp("levels", low, high if high > low else low + 1)


def is_rounded(node: Node) -> bool:
    """Whether the node quantizes its output."""
    return node.dtype == "uint8" or (isinstance(node.op, ActivationOp) and node.op.kind == "levels")


def promise(
    node: Node, swing: int, graph: Graph, values: Mapping[str, Array], constants: dict[str, Array]
) -> list[Node]:
    """The layer with quantized weights, a quantized, noisy input and a quantized output."""
    op = node.op
    assert isinstance(op, ConvOp | DenseOp)
    for part in ("weight", "bias"):
        if constant := getattr(op, part):
            name, array = f"{node.name}/swing{swing}/{part}", graph.constants[constant]
            constants[name] = _quantize_array(array)
            op = msgspec.structs.replace(op, **{part: name})
    name = unused_name(f"{node.name}/swing{swing}", graph)
    noise = f"{name}/noise"
    constants[noise] = _noise(node.name, swing, values[node.input].shape[1:])
    layer = msgspec.structs.replace(node, op=op, inputs=(f"{name}/noisy", *node.inputs[1:]))
    return [
        _node(f"{name}/levels", quantize(values[node.input]), node.input),
        _node(noise, ConstantOp(noise)),
        _node(f"{name}/noisy", BinaryOp("multiply"), f"{name}/levels", noise),
        msgspec.structs.replace(layer, output=f"{name}/exact"),
        _node(node.output, quantize(values[node.output]), f"{name}/exact"),
    ]


def sample_pool(
    node: Node, share: float, half: bool, graph: Graph, constants: dict[str, Array]
) -> list[Node]:
    """An average pool as a depthwise convolution, whose skipped terms have weight 0."""
    op, shapes = node.op, graph.shapes()
    channels, *size = shapes[node.input]
    assert isinstance(op, PoolOp | GlobalPoolOp)
    window, strides = (op.window, op.strides) if isinstance(op, PoolOp) else (size, (1, 1))
    mask = ~skip_mask(math.prod(window), share)
    factor = np.float32(np.float16(1 / mask.sum()) if half else 1 / mask.sum())
    name = f"{node.name}/fewer"
    constants[name] = np.tile(
        (mask * factor).astype(np.float32).reshape(1, 1, *window), (channels, 1, 1, 1)
    )
    conv = ConvOp(name, strides=(strides[0], strides[1]), groups=channels)
    if isinstance(op, PoolOp):
        return [msgspec.structs.replace(node, op=msgspec.structs.replace(conv, post=op.post))]
    pooled = unused_name(f"{node.output}/whole", graph)
    return [
        msgspec.structs.replace(node, op=conv, name=pooled, output=pooled, sources=()),
        msgspec.structs.replace(node, op=ReshapeOp((channels,)), inputs=(pooled,)),
    ]


def skip_mask(count: int, share: float) -> Array:
    """Evenly spaced mask of the skipped terms; at least one is used."""
    edges = np.floor(np.arange(count + 1) * share + 1e-9)
    mask: Array = np.diff(edges) > 0
    return mask if count > 1 else np.zeros(1, bool)


def _quantize_array(array: Array) -> Array:
    return apply_activation(quantize(array), array)


def _noise(layer: str, swing: int, shape: tuple[int, ...]) -> Array:
    """Noise seeded by the layer's name."""
    random = np.random.default_rng(zlib.crc32(f"{layer} {swing}".encode()))
    return (1 + random.normal(0, NOISE[swing], shape)).astype(np.float32)


def _node(name: str, op: Any, *inputs: str) -> Node:
    return Node(name=name, op=op, inputs=inputs, output=name, shape=())  # set by `rewritten`

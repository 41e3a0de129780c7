"""Knobs of machines that are not here, as what they would compute: nothing of it is quicker.

PROMISE is an analog accelerator of HPVM's: what goes into a layer and comes out of it has 256
levels, and its inputs are noisy, the more the lower its voltage swing. Reduction sampling takes a
mean over a part of what it is of.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from assay.native.activations import activated
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
from assay.native.passes.rewrite import unused

# Standard deviation of an input's noise, as a share of it, by the swing from 0 on, as in HPVM.
NOISE = (0.75, 0.64, 0.336, 0.21, 0.168, 0.14, 0.11, 0.0784)
CUT = 0.1  # per cent at either end that a range leaves out, as HPVM's


def levels(values: Array) -> ActivationOp:
    """The rounding to 256 levels of the range that most of these values are in."""
    low, high = (float(np.float32(each)) for each in np.percentile(values, (CUT, 100 - CUT)))
    return ActivationOp("levels", low, high if high > low else low + 1)


def is_rounded(node: Node) -> bool:
    """A number between two bytes or levels may fall to either side."""
    return node.dtype == "uint8" or (isinstance(node.op, ActivationOp) and node.op.kind == "levels")


def promise(
    node: Node, swing: int, graph: Graph, values: Mapping[str, Array], made: dict[str, Array]
) -> list[Node]:
    """The layer between two roundings, with weights that have levels too and a noisy input."""
    op = node.op
    assert isinstance(op, ConvOp | DenseOp)
    for part in ("weight", "bias"):
        if held := getattr(op, part):
            name, array = f"{node.name}/swing{swing}/{part}", graph.constants[held]
            made[name] = _rounded(array)
            op = msgspec.structs.replace(op, **{part: name})
    name = unused(f"{node.name}/swing{swing}", graph)
    noise = f"{name}/noise"
    made[noise] = _noise(node.name, swing, values[node.input].shape[1:])
    plain = msgspec.structs.replace(node, op=op, inputs=(f"{name}/noisy", *node.inputs[1:]))
    return [
        _node(f"{name}/levels", levels(values[node.input]), node.input),
        _node(noise, ConstantOp(noise)),
        _node(f"{name}/noisy", BinaryOp("multiply"), f"{name}/levels", noise),
        msgspec.structs.replace(plain, output=f"{name}/exact"),
        _node(node.output, levels(values[node.output]), f"{name}/exact"),
    ]


def fewer_terms(
    node: Node, share: float, half: bool, graph: Graph, made: dict[str, Array]
) -> list[Node]:
    """A mean over windows as a convolution of each channel by itself, whose other weights are 0."""
    op, shapes = node.op, graph.shapes()
    channels, *size = shapes[node.input]
    assert isinstance(op, PoolOp | GlobalPoolOp)
    window, strides = (op.window, op.strides) if isinstance(op, PoolOp) else (size, (1, 1))
    kept = ~left_out(math.prod(window), share)
    factor = np.float32(np.float16(1 / kept.sum()) if half else 1 / kept.sum())
    name = f"{node.name}/fewer"
    made[name] = np.tile(
        (kept * factor).astype(np.float32).reshape(1, 1, *window), (channels, 1, 1, 1)
    )
    conv = ConvOp(name, strides=(strides[0], strides[1]), groups=channels)
    if isinstance(op, PoolOp):
        return [msgspec.structs.replace(node, op=msgspec.structs.replace(conv, post=op.post))]
    whole = unused(f"{node.output}/whole", graph)
    return [
        msgspec.structs.replace(node, op=conv, name=whole, output=whole, sources=()),
        msgspec.structs.replace(node, op=ReshapeOp((channels,)), inputs=(whole,)),
    ]


def left_out(count: int, share: float) -> Array:
    """Which of so many terms, spread evenly; one at least is kept."""
    edges = np.floor(np.arange(count + 1) * share + 1e-9)
    found: Array = np.diff(edges) > 0
    return found if count > 1 else np.zeros(1, bool)


def _rounded(array: Array) -> Array:
    return activated(levels(array), array)


def _noise(layer: str, swing: int, shape: tuple[int, ...]) -> Array:
    """The same in every run: by the layer's name."""
    random = np.random.default_rng(zlib.crc32(f"{layer} {swing}".encode()))
    return (1 + random.normal(0, NOISE[swing], shape)).astype(np.float32)


def _node(name: str, op: Any, *inputs: str) -> Node:
    return Node(name=name, op=op, inputs=inputs, output=name, shape=())  # found by `rewritten`

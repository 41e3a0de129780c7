"""The layers of a Net as plain data, with their output shapes and weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

Shape = tuple[int, ...]  # of one item, channels last


class Conv(msgspec.Struct, frozen=True):
    """Square kernel; padding `same` (for stride 1), `valid`, or a number of zeros on every side."""

    filters: int
    kernel: int
    padding: str | int = "same"
    stride: int = 1
    bias: bool = True


class Depthwise(msgspec.Struct, frozen=True):
    """One kernel per channel, no bias; `padding` zeros on every side."""

    kernel: int
    padding: int
    stride: int = 1


class Dense(msgspec.Struct, frozen=True):
    units: int


class Pool(msgspec.Struct, frozen=True):
    """Maximum or mean over squares, which do not overlap by default."""

    size: int
    stride: int = 0  # 0: the size
    mean: bool = False

    @property
    def step(self) -> int:
        return self.stride or self.size


class Dropout(msgspec.Struct, frozen=True):
    rate: float


class Norm(msgspec.Struct, frozen=True):
    """Batch norm with a learned offset and no scale, as in the VGG16 study.

    Training uses the batch's statistics. `running`: inference uses running averages of them (mode 0
    of Keras 1), else those of the batch (mode 2). `fused`: by one kernel of the framework, if it
    has an option for that.
    """

    running: bool
    fused: bool = False


class ScaledNorm(msgspec.Struct, frozen=True):
    """Batch norm as in frameworks: scale, offset, and running averages for inference."""


# Frameworks without an option for a fused kernel.
NO_FUSED = {
    "keras": "Keras has no fused batch norm to choose; drop fused=true",
    "jax": "JAX has no fused batch norm: XLA fuses; drop fused=true",
}
MOMENTUM, EPSILON = 0.99, 1e-3  # of every batch norm: Keras' own


class Relu(msgspec.Struct, frozen=True):
    pass


class Tanh(msgspec.Struct, frozen=True):
    pass


class Flatten(msgspec.Struct, frozen=True):
    pass


class Residual(msgspec.Struct, frozen=True):
    """The sum of two branches of one input; the shortcut's layers are created last."""

    body: tuple[Layer, ...]
    shortcut: tuple[Layer, ...] = ()  # empty: the input itself


Layer = (
    Conv | Depthwise | Dense | Pool | Dropout | Norm | ScaledNorm | Relu | Tanh | Flatten | Residual
)

# Keras' names of layers, in names of weights.
_KINDS = {
    Conv: "conv2d",
    Depthwise: "depthwise_conv2d",
    Dense: "dense",
    Norm: "batch_normalization",
    ScaledNorm: "batch_normalization",
}


class LayerPosition(NamedTuple):
    """A layer at its position in a net."""

    layer: Layer
    name: str  # of its weights: its kind, counted from 1 in order of creation; "" without weights
    before: Shape  # of its input
    after: Shape


def layer_positions(
    layers: tuple[Layer, ...], shape: Shape, counts: dict[str, int]
) -> Iterator[LayerPosition]:
    """Every layer in order of creation, with those in residual blocks, without the blocks."""
    for layer in layers:
        if isinstance(layer, Residual):
            yield from layer_positions(layer.body, shape, counts)
            yield from layer_positions(layer.shortcut, shape, counts)
            shape = after(layer, shape)
            continue
        kind = _KINDS.get(type(layer), "")
        if kind:
            counts[kind] = counts.get(kind, 0) + 1
        position = LayerPosition(
            layer, f"{kind}_{counts[kind]}" if kind else "", shape, after(layer, shape)
        )
        yield position
        shape = position.after


def variables(layer: Layer, shape: Shape) -> dict[str, Shape]:
    """Name → shape of a layer's weights in Keras, with running averages of a ScaledNorm, but not of
    a Norm, which start at zero and one and are in no file."""
    channels = shape[-1:]
    match layer:
        case Conv(filters, kernel):
            bias = {"bias": (filters,)} if layer.bias else {}
            return {"kernel": (kernel, kernel, *channels, filters), **bias}
        case Depthwise(kernel):
            return {"kernel": (kernel, kernel, *channels, 1)}
        case Dense(units):
            return {"kernel": (*channels, units), "bias": (units,)}
        case Norm():
            return {"beta": channels}
        case ScaledNorm():
            return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_variance"), channels)
    return {}


def after(layer: Layer, shape: Shape) -> Shape:
    match layer:
        case Conv():
            return (
                *_window_positions(shape, layer.kernel, layer.padding, layer.stride),
                layer.filters,
            )
        case Depthwise():
            return (*_window_positions(shape, layer.kernel, layer.padding, layer.stride), shape[-1])
        case Pool():
            return (*_window_positions(shape, layer.size, "valid", layer.step), shape[-1])
        case Dense():
            return (layer.units,)
        case Flatten():
            return (math.prod(shape),)
        case Residual():
            for inner in layer.body:
                shape = after(inner, shape)
    return shape


def multiply_adds(layer: Layer, before: Shape, after: Shape) -> int:
    """Of one forward pass over one item."""
    match layer:
        case Conv():
            return math.prod(after) * layer.kernel**2 * before[-1]
        case Depthwise():
            return math.prod(after) * layer.kernel**2
        case Dense():
            return before[0] * layer.units
    return 0


def _window_positions(shape: Shape, size: int, padding: str | int, stride: int) -> Shape:
    """Rows and columns of the output of a sliding window."""
    if padding == "same":
        return tuple(-(-side // stride) for side in shape[:2])
    border = 0 if isinstance(padding, str) else 2 * padding
    return tuple((side + border - size) // stride + 1 for side in shape[:2])

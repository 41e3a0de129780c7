"""The layers a Net is made of, as plain data: what each makes of a shape, and its weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

Shape = tuple[int, ...]  # of one item, channels last


class Conv(msgspec.Struct, frozen=True):
    """Square kernel; padding `same` (for stride 1), `valid`, or so many zeros on every side."""

    filters: int
    kernel: int
    padding: str | int = "same"
    stride: int = 1
    bias: bool = True


class Depthwise(msgspec.Struct, frozen=True):
    """A kernel of its own for every channel, no bias; so many zeros on every side."""

    kernel: int
    padding: int
    stride: int = 1


class Dense(msgspec.Struct, frozen=True):
    units: int


class Pool(msgspec.Struct, frozen=True):
    """Maximum or mean over squares, which do not overlap unless a stride is given."""

    size: int
    stride: int = 0  # 0: the size
    mean: bool = False

    @property
    def step(self) -> int:
        return self.stride or self.size


class Dropout(msgspec.Struct, frozen=True):
    rate: float


class Norm(msgspec.Struct, frozen=True):
    """Batch norm of each channel with a learned offset and no scale, as the VGG16 study had it.

    Training takes the batch's own statistics. `running`: testing takes running averages of them
    (Keras 1 called it mode 0), else the batch's own again (mode 2). `fused`: in one kernel of the
    framework, where it has one to choose.
    """

    running: bool
    fused: bool = False


class ScaledNorm(msgspec.Struct, frozen=True):
    """Batch norm as frameworks have it: scale, offset, and running averages for testing."""


# Kinds without such a kernel to choose.
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
    """The sum of two ways from one input; the shortcut's layers are created last."""

    body: tuple[Layer, ...]
    shortcut: tuple[Layer, ...] = ()  # nothing: the input itself


Layer = (
    Conv | Depthwise | Dense | Pool | Dropout | Norm | ScaledNorm | Relu | Tanh | Flatten | Residual
)

# What Keras calls a layer of this kind, in names of weights.
_KINDS = {
    Conv: "conv2d",
    Depthwise: "depthwise_conv2d",
    Dense: "dense",
    Norm: "batch_normalization",
    ScaledNorm: "batch_normalization",
}


class Placed(NamedTuple):
    """A layer where it stands in a net."""

    layer: Layer
    name: str  # of its weights: its kind, counted from 1 in order of creation; "" without weights
    before: Shape  # what it is given
    after: Shape


def placed(layers: tuple[Layer, ...], shape: Shape, counts: dict[str, int]) -> Iterator[Placed]:
    """Every layer in order of creation, those inside a residual block too, but not the block."""
    for layer in layers:
        if isinstance(layer, Residual):
            yield from placed(layer.body, shape, counts)
            yield from placed(layer.shortcut, shape, counts)
            shape = after(layer, shape)
            continue
        kind = _KINDS.get(type(layer), "")
        if kind:
            counts[kind] = counts.get(kind, 0) + 1
        found = Placed(layer, f"{kind}_{counts[kind]}" if kind else "", shape, after(layer, shape))
        yield found
        shape = found.after


def variables(layer: Layer, shape: Shape) -> dict[str, Shape]:
    """Name → shape of a layer's weights, as Keras has them; running averages of a ScaledNorm too.

    Those of a Norm are none: they begin at zero and one, in no file.
    """
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
    """The shape a layer gives."""
    match layer:
        case Conv():
            return (*_slid(shape, layer.kernel, layer.padding, layer.stride), layer.filters)
        case Depthwise():
            return (*_slid(shape, layer.kernel, layer.padding, layer.stride), shape[-1])
        case Pool():
            return (*_slid(shape, layer.size, "valid", layer.step), shape[-1])
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


def _slid(shape: Shape, size: int, padding: str | int, stride: int) -> Shape:
    """Rows and columns after a window was slid over them."""
    if padding == "same":
        return tuple(-(-side // stride) for side in shape[:2])
    around = 0 if isinstance(padding, str) else 2 * padding
    return tuple((side + around - size) // stride + 1 for side in shape[:2])

"""The operations of a graph. Shapes and axes are those of one item, without the batch.

An image is (channels, height, width), as in ONNX, HPVM and oneDNN's logical dimensions; the
layout in memory is independent of it.
Constants are named in fields of the op; a node's inputs are computed values only.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Pair = tuple[int, int]  # height, width
Pads = tuple[int, int, int, int]  # top, left, bottom, right
# Rows, columns, offset: from `offset` on, every n-th row or column of the sums (1: none) is
# interpolated from its neighbours, before the bias; at an edge it is a copy.
Perforation = tuple[int, int, int]
ActivationKind = Literal[
    "relu",
    "tanh",
    "sigmoid",
    "elu",
    "selu",
    "gelu",
    "gelu_tanh",
    "silu",
    "softplus",
    "softsign",
    "exponential",
    "hard_sigmoid",
    "hard_silu",
    "mish",
    "clip",
    "sqrt",
    "square",
    "abs",
    "negative",
    "reciprocal",
    "log",
    "erf",
    "sin",
    "cos",
    "levels",
    "floor",
    "ceil",
    "round",
    "truncate",
    "sign",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "acosh",
    "atanh",
]


class ActivationOp(msgspec.Struct, frozen=True, tag="activation"):
    """An elementwise function; a node of its own, or fused into another op."""

    kind: ActivationKind
    alpha: float = 0.0  # relu: slope below 0; elu: its scale; clip: the smallest result
    limit: float = 0.0  # relu: the largest result, 0: none; clip: the largest result
    # levels: quantize alpha to limit to 256 levels, rounding down


class ResidualOp(msgspec.Struct, frozen=True, tag="residual"):
    """Fused into another op: adds the node's last input, of the result's shape."""


class PoolOp(msgspec.Struct, frozen=True, tag="pool"):
    """An average does not count padding, as in Keras.

    Fused into a convolution, it has no `post` of its own: later posts follow in the list.
    """

    kind: Literal["max", "average"]
    window: Pair
    strides: Pair
    pads: Pads = (0, 0, 0, 0)
    post: tuple[ActivationOp, ...] = ()


# Fused into an op, in order, before its result is written; at most one residual.
Post = ActivationOp | ResidualOp | PoolOp


class ConvOp(msgspec.Struct, frozen=True, tag="conv", omit_defaults=True):
    """Weight: (out, in / groups, height, width). Depthwise: as many groups as input channels.

    Knobs set the fields from `scales` on.
    """

    weight: str
    bias: str = ""  # (out,); "": none
    strides: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilations: Pair = (1, 1)
    groups: int = 1
    post: tuple[Post, ...] = ()
    scales: str = ""  # (out,) factors of an int8 weight, -127 to 127; "": 1
    perforation: Perforation = (1, 1, 0)
    sampled: bool = False  # some terms are 0 in every filter, and may be skipped


class DenseOp(msgspec.Struct, frozen=True, tag="dense", omit_defaults=True):
    """Weight: (out, in), over the last axis of the item; the axes before it are rows."""

    weight: str
    bias: str = ""  # (out,); "": none
    post: tuple[ActivationOp | ResidualOp, ...] = ()
    scales: str = ""  # as a convolution's


class BatchNormOp(msgspec.Struct, frozen=True, tag="batch_norm"):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, along axis 0 of the item."""

    mean: str
    variance: str
    gamma: str = ""  # "": 1
    beta: str = ""  # "": 0
    epsilon: float = 1e-3
    post: tuple[ActivationOp, ...] = ()


class LayerNormOp(msgspec.Struct, frozen=True, tag="layer_norm"):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, of each item.

    Mean and variance are over `axes`, ascending; gamma and beta have the sizes of those axes.
    """

    axes: tuple[int, ...]
    gamma: str = ""  # "": 1
    beta: str = ""  # "": 0
    epsilon: float = 1e-3
    centered: bool = True  # False: RMS norm, without the mean


class LocalNormOp(msgspec.Struct, frozen=True, tag="local_norm"):
    """x / (offset + alpha / size * s) ** power of an image, where s sums the squares of the `size`
    channels around, the odd one after it."""

    size: int
    alpha: float = 1e-4
    power: float = 0.75
    offset: float = 1.0


class GlobalPoolOp(msgspec.Struct, frozen=True, tag="global_pool"):
    """(channels, height, width) → (channels,)"""

    kind: Literal["max", "average"]


class SoftmaxOp(msgspec.Struct, frozen=True, tag="softmax"):
    axis: int = 0


class BinaryOp(msgspec.Struct, frozen=True, tag="binary"):
    """Two inputs of equal rank; axes of size 1 are broadcast.

    A mask is the second input where that is not NaN, else the first. A comparison gives 1 or 0.
    `where` is the first input where the second is not 0, else -0, which changes no sum it is added
    to. A remainder has the sign of the first input, as C's fmod.
    """

    kind: Literal[
        "add",
        "multiply",
        "subtract",
        "maximum",
        "minimum",
        "divide",
        "mask",
        "where",
        "remainder",
        "power",
        "equal",
        "less",
        "less_equal",
    ]
    post: tuple[ActivationOp, ...] = ()


class ConcatenateOp(msgspec.Struct, frozen=True, tag="concatenate"):
    axis: int = 0


class ReshapeOp(msgspec.Struct, frozen=True, tag="reshape"):
    """The same values in the same (row-major) order."""

    shape: tuple[int, ...]


class TransposeOp(msgspec.Struct, frozen=True, tag="transpose"):
    """Axis i of the result is axis order[i] of the input."""

    order: tuple[int, ...]


class PadOp(msgspec.Struct, frozen=True, tag="pad"):
    """Zeros around an image."""

    pads: Pads


class UpsampleOp(msgspec.Struct, frozen=True, tag="upsample"):
    """Repeats each pixel `scale` times."""

    scale: Pair


class SliceOp(msgspec.Struct, frozen=True, tag="slice"):
    """Along axis i, `sizes[i]` numbers from `starts[i]` on, with step `steps[i]`."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]


class ReduceOp(msgspec.Struct, frozen=True, tag="reduce"):
    """Over `axes`, which stay with size 1."""

    kind: Literal["sum", "mean", "max", "min"]
    axes: tuple[int, ...]


class MatMulOp(msgspec.Struct, frozen=True, tag="matmul"):
    """The matrix product over the last two axes; those before are broadcast."""


class ConvTransposeOp(msgspec.Struct, frozen=True, tag="conv_transpose"):
    """Weight: (in, out / groups, height, width). Each input pixel adds the weight times itself.

    `pads` are cut off the result; a negative one adds rows or columns of bias alone.
    """

    weight: str
    bias: str = ""  # (out,); "": none
    strides: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilations: Pair = (1, 1)
    groups: int = 1


class EmbeddingOp(msgspec.Struct, frozen=True, tag="embedding"):
    """A row of the weight (rows, size) for each integer of the input.

    `checked`: negative integers count from the end, and one that is out of range is an error; else
    it is the nearest row.
    """

    weight: str
    checked: bool = False


class GatherOp(msgspec.Struct, frozen=True, tag="gather"):
    """Rows of the first input (rows, size) for the integers of the second (count,), checked."""


class TakeOp(msgspec.Struct, frozen=True, tag="take"):
    """Values at known positions of the item in row-major order; below 0: a zero."""

    positions: str  # constant of the result's shape


class CastOp(msgspec.Struct, frozen=True, tag="cast"):
    """The same numbers, stored in the node's dtype."""


class ConstantOp(msgspec.Struct, frozen=True, tag="constant"):
    """The same value for every item; no inputs."""

    weight: str


Op = (
    ConvOp
    | DenseOp
    | BatchNormOp
    | PoolOp
    | GlobalPoolOp
    | ActivationOp
    | SoftmaxOp
    | BinaryOp
    | ConcatenateOp
    | ReshapeOp
    | TransposeOp
    | PadOp
    | UpsampleOp
    | LayerNormOp
    | LocalNormOp
    | SliceOp
    | ReduceOp
    | MatMulOp
    | ConvTransposeOp
    | EmbeddingOp
    | GatherOp
    | TakeOp
    | CastOp
    | ConstantOp
)


def constants_of(op: Op) -> dict[str, str]:
    """Field → name of its constant; without empty fields."""
    names = {"weight", "bias", "scales", "mean", "variance", "gamma", "beta", "positions"}
    fields = names & set(op.__struct_fields__)
    return {field: name for field in sorted(fields) if (name := getattr(op, field))}


def kind_of(op: Op) -> str:
    """The usual name: relu rather than activation, max_pool rather than pool."""
    word = type(op).__struct_config__.tag
    kind = getattr(op, "kind", "")
    return f"{kind}_{word}" if "pool" in str(word) else str(kind or word)

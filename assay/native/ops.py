"""The operations of a graph. Shapes and axes are those of one item: the batch is never mentioned.

An image is (channels, height, width). ONNX, oneDNN's logical dimensions and HPVM all count in this
order, so nothing has to be renumbered on the way out; how a value lies in memory is another matter.
Constants are named in the op's own fields, so a node's inputs are computed values only.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Pair = tuple[int, int]  # height, width
Pads = tuple[int, int, int, int]  # top, left, bottom, right
# Rows, columns, offset: from `offset` on, every so-manieth row or column of the sums (1: none) is
# not computed but the mean of its neighbours, before the bias; at an edge it is a copy.
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
]


class ActivationOp(msgspec.Struct, frozen=True, tag="activation"):
    """An elementwise function; a node of its own, or something done after another op."""

    kind: ActivationKind
    alpha: float = 0.0  # relu: slope below 0; elu: its scale; clip: the smallest result
    limit: float = 0.0  # relu: the largest result, 0: none; clip: the largest result
    # levels: the range that has 256 of them, from alpha up to limit; each counts from its lower end


class ResidualOp(msgspec.Struct, frozen=True, tag="residual"):
    """Done after another op: the node's last input, of the result's shape, is added."""


class PoolOp(msgspec.Struct, frozen=True, tag="pool"):
    """The mean is over what lies inside the image, as in Keras: padding is not counted.

    Done after a convolution, it has no `post` of its own: what follows it follows in the list.
    """

    kind: Literal["max", "average"]
    window: Pair
    strides: Pair
    pads: Pads = (0, 0, 0, 0)
    post: tuple[ActivationOp, ...] = ()


# What is done after an op, in order, before its result is written; at most one Residual.
Post = ActivationOp | ResidualOp | PoolOp


class ConvOp(msgspec.Struct, frozen=True, tag="conv", omit_defaults=True):
    """Weight: (out, in / groups, height, width). Depthwise: as many groups as channels come in.

    The fields from `scales` on are what knobs make of it.
    """

    weight: str
    bias: str = ""  # (out,); "": none
    strides: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilations: Pair = (1, 1)
    groups: int = 1
    post: tuple[Post, ...] = ()
    scales: str = ""  # (out,) factors of a weight of whole numbers from -127 to 127; "": 1
    perforation: Perforation = (1, 1, 0)
    sampled: bool = False  # some terms are 0 in every filter, and may be left out


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
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, of each item's own numbers.

    Mean and variance are over `axes`, ascending; gamma and beta have the sizes of those axes.
    """

    axes: tuple[int, ...]
    gamma: str = ""  # "": 1
    beta: str = ""  # "": 0
    epsilon: float = 1e-3
    centered: bool = True  # False: no mean is taken away, and the variance is the mean square


class LocalNormOp(msgspec.Struct, frozen=True, tag="local_norm"):
    """x / (offset + alpha / size * s) ** power of a picture, where s sums the squares of the `size`
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
    """Two inputs of one rank; an axis of size 1 is repeated to fit the other's.

    A mask is the second input where that is a number, else the first. A comparison gives 1 where it
    is true, else 0.
    """

    kind: Literal[
        "add",
        "multiply",
        "subtract",
        "maximum",
        "minimum",
        "divide",
        "mask",
        "power",
        "equal",
        "less",
        "less_equal",
    ]
    post: tuple[ActivationOp, ...] = ()


class ConcatenateOp(msgspec.Struct, frozen=True, tag="concatenate"):
    axis: int = 0


class ReshapeOp(msgspec.Struct, frozen=True, tag="reshape"):
    """The same values in the same (row-major) order; flattening too."""

    shape: tuple[int, ...]


class TransposeOp(msgspec.Struct, frozen=True, tag="transpose"):
    """Axis i of the result is axis order[i] of the input."""

    order: tuple[int, ...]


class PadOp(msgspec.Struct, frozen=True, tag="pad"):
    """Zeros around an image."""

    pads: Pads


class UpsampleOp(msgspec.Struct, frozen=True, tag="upsample"):
    """Each pixel repeated `scale` times."""

    scale: Pair


class SliceOp(msgspec.Struct, frozen=True, tag="slice"):
    """Along each axis `sizes[i]` numbers, from `starts[i]` on, every `steps[i]`th."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]


class ReduceOp(msgspec.Struct, frozen=True, tag="reduce"):
    """Of all numbers along `axes`, which stay with size 1."""

    kind: Literal["sum", "mean", "max", "min"]
    axes: tuple[int, ...]


class MatMulOp(msgspec.Struct, frozen=True, tag="matmul"):
    """The matrix product of two values over their last two axes; those before fit as in Binary."""


class ConvTransposeOp(msgspec.Struct, frozen=True, tag="conv_transpose"):
    """Weight: (in, out / groups, height, width). Each input pixel adds the weight times itself.

    `pads` are cut off the result; one below 0 is so many rows or columns of bias alone.
    """

    weight: str
    bias: str = ""  # (out,); "": none
    strides: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilations: Pair = (1, 1)
    groups: int = 1


class EmbeddingOp(msgspec.Struct, frozen=True, tag="embedding"):
    """A row of the weight (rows, size) for each whole number of the input."""

    weight: str


class CastOp(msgspec.Struct, frozen=True, tag="cast"):
    """The same numbers, kept as the node says: as bytes, or as floats."""


class ConstantOp(msgspec.Struct, frozen=True, tag="constant"):
    """The same value for every item; of no inputs."""

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
    | CastOp
    | ConstantOp
)


def constants_of(op: Op) -> dict[str, str]:
    """Field → name of the constant it holds; fields that hold none are left out."""
    held = {"weight", "bias", "scales", "mean", "variance", "gamma", "beta"}
    fields = held & set(op.__struct_fields__)
    return {field: name for field in sorted(fields) if (name := getattr(op, field))}


def kind_of(op: Op) -> str:
    """What a model's author would call it: relu rather than activation, max_pool than pool."""
    word = type(op).__struct_config__.tag
    kind = getattr(op, "kind", "")
    return f"{kind}_{word}" if "pool" in str(word) else str(kind or word)

"""Small graphs of every operation, drawn by hypothesis, with inputs for them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from assay.native import ops
from assay.native.graph import Graph
from assay.native.graph_builder import GraphBuilder

KINDS = ("relu", "tanh", "sigmoid", "elu", "selu", "gelu", "gelu_tanh", "silu", "softplus")
KINDS += ("softsign", "exponential", "hard_sigmoid", "hard_silu", "mish", "square", "abs", "erf")


class Drawn:
    """A graph in the making; `random` gives weights, `draw` gives choices."""

    def __init__(self, draw, seed):
        self.draw = draw
        self.random = np.random.default_rng(seed)
        self.building = GraphBuilder()
        self.images = []

    def constant(self, shape, low=-1.0, high=1.0):
        name = f"constant{len(self.building.constants)}"
        return self.building.constant(name, self.random.uniform(low, high, shape))

    def add(self, op, *values):
        return self.building.add(f"value{len(self.building.nodes)}", op, *values)

    def integers(self, low, high):
        return self.draw(st.integers(low, high))

    def some(self, *choices):
        return self.draw(st.sampled_from(choices))


def conv(made, value):
    channels, height, width = made.building.shapes[value]
    groups = made.some(*(each for each in (1, 2, channels) if channels % each == 0))
    out = groups * made.integers(1, 3)
    pads = tuple(made.integers(0, 2) for _ in range(4))
    kernel = (made.integers(1, min(3, height)), made.integers(1, min(3, width)))
    weight = made.constant((out, channels // groups, *kernel))
    bias = made.constant((out,)) if made.some(True, False) else ""
    roomy = min(height, width) >= 5
    dilations = (made.integers(1, 2), made.integers(1, 2)) if roomy else (1, 1)
    strides = (made.integers(1, 2), made.integers(1, 2))
    op = ops.ConvOp(weight, bias, strides, pads, dilations, groups)
    return made.add(op, value)


def batch_norm(made, value):
    size = (made.building.shapes[value][0],)
    gamma = made.constant(size) if made.some(True, False) else ""
    beta = made.constant(size) if made.some(True, False) else ""
    mean, variance = made.constant(size), made.constant(size, 0.1, 2.0)
    return made.add(ops.BatchNormOp(mean, variance, gamma, beta), value)


def pool(made, value):
    _, height, width = made.building.shapes[value]
    window = (made.integers(1, min(3, height)), made.integers(1, min(3, width)))
    pads = tuple(made.integers(0, window[axis % 2] - 1) for axis in range(4))
    strides = (made.integers(1, 2), made.integers(1, 2))
    return made.add(ops.PoolOp(made.some("max", "average"), window, strides, pads), value)


def activation(made, value):
    kind = made.some(*KINDS)
    if kind == "relu":
        return made.add(ops.ActivationOp(kind, made.some(0.0, 0.1), made.some(0.0, 1.0)), value)
    return made.add(ops.ActivationOp(kind, 1.0 if kind == "elu" else 0.0), value)


def binary(made, value):
    """With a value of the same shape, or with one number for each channel."""
    shape = made.building.shapes[value]
    others = [name for name in made.images if made.building.shapes[name] == shape]
    other = made.some(*others)
    if made.some(True, False, False):
        other = made.add(ops.GlobalPoolOp("average"), other)
        other = made.add(ops.ReshapeOp((shape[0], 1, 1)), other)
    kind = made.some("add", "add", "multiply", "subtract", "maximum", "minimum")
    return made.add(ops.BinaryOp(kind), value, other)


def residual(made, value):
    """The sum of a value and a convolution of it, or of its mean over the image."""
    shape = made.building.shapes[value]
    inner = made.some(value, value, batch_norm(made, value))
    weight = made.constant((shape[0], shape[0], 1, 1))
    inner = made.add(ops.ConvOp(weight), inner)
    inner = activation(made, inner) if made.some(True, False) else inner
    if made.some(True, False, False):
        inner = made.add(ops.ReshapeOp((shape[0], 1, 1)), made.add(ops.GlobalPoolOp("max"), inner))
    first, second = made.some((inner, value), (value, inner))
    return made.add(ops.BinaryOp("add"), first, second)


def concatenate(made, value):
    _, height, width = made.building.shapes[value]
    others = [name for name in made.images if made.building.shapes[name][1:] == (height, width)]
    return made.add(ops.ConcatenateOp(0), value, made.some(*others))


def pad(made, value):
    return made.add(ops.PadOp(tuple(made.integers(0, 2) for _ in range(4))), value)


def turned(made, value):
    """Turned away and back, or half way: what a model with channels last leaves behind."""
    away = made.add(ops.TransposeOp((1, 2, 0)), value)
    return made.add(ops.TransposeOp(made.some((2, 0, 1), (0, 2, 1))), away)


def upsample(made, value):
    """Of an image only."""
    return made.add(ops.UpsampleOp((made.integers(1, 2), 2)), value)


def transposed(made, value):
    channels = made.building.shapes[value][0]
    groups = made.some(*(each for each in (1, 2) if channels % each == 0))
    kernel, strides = made.integers(1, 3), (made.integers(1, 2), made.integers(1, 3))
    weight = made.constant((channels, made.integers(1, 3), kernel, kernel))
    bias = made.constant((made.building.constants[weight].shape[1] * groups,))
    ends = made.integers(-1, 0) if min(strides) > 1 else 0
    op = ops.ConvTransposeOp(weight, bias, strides, (0, 0, ends, ends), groups=groups)
    return made.add(op, value)


def layer_norm(made, value):
    shape = made.building.shapes[value]
    axes = tuple(sorted(made.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    sizes = tuple(shape[axis] for axis in axes)
    gamma, beta = made.some(made.constant(sizes), ""), made.some(made.constant(sizes), "")
    op = ops.LayerNormOp(axes, gamma, beta, 0.1, made.some(True, False))
    return made.add(op, value)


def local_norm(made, value):
    """Of an image only."""
    return made.add(ops.LocalNormOp(made.some(1, 3), 0.3, 0.75, 1.5), value)


def part(made, value):
    """Every so many numbers along each axis, upwards or downwards."""
    rows = []
    for size in made.building.shapes[value]:
        step = made.some(1, 1, 2, -1)
        first = made.integers(0, size - 1)
        most = (size - 1 - first if step > 0 else first) // abs(step) + 1
        rows.append((first, made.integers(1, most), step))
    return made.add(ops.SliceOp(*zip(*rows, strict=True)), value)


def reduced(made, value):
    rank = len(made.building.shapes[value])
    axes = tuple(sorted(made.draw(st.sets(st.integers(0, rank - 1), min_size=1))))
    return made.add(ops.ReduceOp(made.some("sum", "mean", "max", "min"), axes), value)


def with_known(made, value):
    """Combined with numbers that are known, repeated along some axes; set beside others."""
    shape = made.building.shapes[value]
    if made.some(True, False, False):
        held = made.add(ops.ConstantOp(made.constant(shape)))
        return made.add(ops.ConcatenateOp(made.integers(0, len(shape) - 1)), held, value)
    sizes = tuple(made.some(1, size) for size in shape)
    held = made.add(ops.ConstantOp(made.constant(sizes, 0.5, 1.5)))
    kind = made.some("add", "multiply", "subtract", "divide", "maximum", "mask")
    if kind == "mask":
        return masked(made, value, sizes)
    first, second = made.some((value, held), (held, value)) if kind != "divide" else (value, held)
    return made.add(ops.BinaryOp(kind), first, second)


def masked(made, value, sizes):
    """Numbers in some places, here where those drawn are above 1, which is half of them."""
    name = made.constant(sizes, 0.5, 1.5)
    drawn = made.building.constants[name]
    made.building.constants[name] = np.where(drawn > 1, drawn, np.float32(np.nan))
    return made.add(ops.BinaryOp("mask"), value, made.add(ops.ConstantOp(name)))


def product(made, value):
    """Of its matrices with themselves turned, or with one that is known."""
    shape = made.building.shapes[value]
    rank = len(shape)
    if rank < 2 or shape[-2] > 12:
        return activation(made, value)
    if made.some(True, False):
        sizes = (*(1,) * (rank - 2), shape[-1], made.integers(1, 18))
        other = made.add(ops.ConstantOp(made.constant(sizes)))
    else:
        order = (*range(rank - 2), rank - 1, rank - 2)
        other = made.add(ops.TransposeOp(order), value)
    return made.add(ops.MatMulOp(), value, other)


STEPS = (conv, conv, batch_norm, pool, activation, binary, residual, residual, concatenate, pad)
STEPS += (turned, upsample, transposed, layer_norm, local_norm, part)
STEPS += (with_known,)


def alike(made, value):
    """With a value of the same shape."""
    shape = made.building.shapes[value]
    others = [name for name in made.images if made.building.shapes[name] == shape]
    return made.add(
        ops.BinaryOp(made.some("add", "multiply", "maximum")), value, made.some(*others)
    )


def beside(made, value):
    """Set beside itself or another, along any axis."""
    shape = made.building.shapes[value]
    axis = made.integers(0, len(shape) - 1)
    rest = (shape[:axis], shape[axis + 1 :])
    others = [
        name
        for name in made.images
        if len(there := made.building.shapes[name]) == len(shape)
        and (there[:axis], there[axis + 1 :]) == rest
    ]
    return made.add(ops.ConcatenateOp(axis), value, made.some(*others))


def reordered(made, value):
    rank = len(made.building.shapes[value])
    return made.add(ops.TransposeOp(tuple(made.draw(st.permutations(range(rank))))), value)


def reshaped(made, value):
    """Its values in another number of axes, so that ranks meet."""
    size = int(np.prod(made.building.shapes[value]))
    first = made.some(*(each for each in (1, 2, 3, 4, 6) if size % each == 0))
    shape = made.some((size,), (first, size // first), (1, first, size // first))
    return made.add(ops.ReshapeOp(shape), value)


def dense_rows(made, value):
    """Twice by the same square weights, or once by others."""
    last = made.building.shapes[value][-1]
    if made.some(True, False):
        weight = made.constant((last, last), -0.5, 0.5)
        return made.add(ops.DenseOp(weight), made.add(ops.DenseOp(weight), value))
    units = made.integers(1, 5)
    bias = made.some(made.constant((units,)), "")
    return made.add(ops.DenseOp(made.constant((units, last)), bias), value)


def softmax(made, value):
    return made.add(ops.SoftmaxOp(made.integers(0, len(made.building.shapes[value]) - 1)), value)


ANY_RANK = (batch_norm, batch_norm, activation, alike, beside, reordered, reshaped, dense_rows)
ANY_RANK += (dense_rows, softmax, layer_norm, part, reduced, with_known, with_known, product)


def head(made, value):
    """Flattened in either order or pooled, then dense layers."""
    way = made.some("flat", "turned", "pooled", "none")
    if way == "none":
        return value
    if way == "pooled":
        value = made.add(ops.GlobalPoolOp(made.some("max", "average")), value)
    else:
        value = made.add(ops.TransposeOp((1, 2, 0)), value) if way == "turned" else value
        value = made.add(ops.ReshapeOp((int(np.prod(made.building.shapes[value])),)), value)
    (size,) = made.building.shapes[value]
    if size <= 40 and made.some(True, False):
        square = made.constant((size, size), -0.3, 0.3)  # shared by an image and a vector
        value = made.add(ops.DenseOp(square), made.add(ops.DenseOp(square), value))
    weight, bias = made.constant((4, size), -0.3, 0.3), made.constant((4,))
    value = made.add(ops.DenseOp(weight, made.some(bias, "")), value)
    if made.some(True, False):
        value = batch_norm(made, value)
    return made.add(ops.SoftmaxOp(0), value) if made.some(True, False) else value


@st.composite
def graphs(draw) -> Graph:
    made = Drawn(draw, draw(st.integers(0, 2**16)))
    if draw(st.sampled_from((True, True, False))):
        return _of_pictures(made)
    return _of_any_rank(made)


def _of_any_rank(made) -> Graph:
    shape = tuple(made.integers(1, 5) for _ in range(made.integers(1, 4)))
    layout = made.some("", "channels_first", "channels_last") if len(shape) == 3 else ""
    made.images.append(made.building.add_input("input", shape, layout).value)
    for step in made.draw(st.lists(st.sampled_from(ANY_RANK), min_size=1, max_size=7)):
        value = made.some(*made.images[-2:])
        size = np.prod(made.building.shapes[value])
        made.images.append(step(made, value) if size < 2000 else activation(made, value))
    outputs = [made.images[-1], *([made.some(*made.images)] if made.some(True, False) else [])]
    return made.building.graph("random", outputs)


def _of_pictures(made) -> Graph:
    draw = made.draw
    shape = (draw(st.integers(1, 4)), draw(st.integers(3, 7)), draw(st.integers(3, 7)))
    layout = made.some("", "channels_first", "channels_last")
    own = (*shape[1:], shape[0]) if layout == "channels_last" else shape
    value = made.building.add_input("input", own, layout).value
    if layout == "channels_last":
        value = made.add(ops.TransposeOp((2, 0, 1)), value)
    made.images.append(value)
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=7)):
        value = made.some(*made.images[-2:])
        size = np.prod(made.building.shapes[value])
        made.images.append(step(made, value) if size < 2000 else activation(made, value))
    last = made.images[-1]
    outputs = [head(made, last)] + ([made.some(*made.images)] if made.some(True, False) else [])
    return made.building.graph("random", outputs)


def inputs_for(graph: Graph, batch: int = 2) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    return [random.normal(size=(batch, *value.shape)).astype(np.float32) for value in graph.inputs]

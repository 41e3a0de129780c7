"""Small graphs of every operation, drawn by hypothesis, with inputs for them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from assay.native import ops
from assay.native.building import Building
from assay.native.graph import Graph

KINDS = ("relu", "tanh", "sigmoid", "elu", "selu", "gelu", "gelu_tanh", "silu", "softplus")
KINDS += ("softsign", "exponential", "hard_sigmoid", "hard_silu")


class Drawn:
    """A graph in the making; `random` gives weights, `draw` gives choices."""

    def __init__(self, draw, seed):
        self.draw = draw
        self.random = np.random.default_rng(seed)
        self.building = Building()
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
    op = ops.Conv(weight, bias, strides, pads, dilations, groups)
    return made.add(op, value)


def batch_norm(made, value):
    size = (made.building.shapes[value][0],)
    gamma = made.constant(size) if made.some(True, False) else ""
    beta = made.constant(size) if made.some(True, False) else ""
    mean, variance = made.constant(size), made.constant(size, 0.1, 2.0)
    return made.add(ops.BatchNorm(mean, variance, gamma, beta), value)


def pool(made, value):
    _, height, width = made.building.shapes[value]
    window = (made.integers(1, min(3, height)), made.integers(1, min(3, width)))
    pads = tuple(made.integers(0, window[axis % 2] - 1) for axis in range(4))
    strides = (made.integers(1, 2), made.integers(1, 2))
    return made.add(ops.Pool(made.some("max", "average"), window, strides, pads), value)


def activation(made, value):
    kind = made.some(*KINDS)
    if kind == "relu":
        return made.add(ops.Activation(kind, made.some(0.0, 0.1), made.some(0.0, 1.0)), value)
    return made.add(ops.Activation(kind, 1.0 if kind == "elu" else 0.0), value)


def binary(made, value):
    """With a value of the same shape, or with one number for each channel."""
    shape = made.building.shapes[value]
    others = [name for name in made.images if made.building.shapes[name] == shape]
    other = made.some(*others)
    if made.some(True, False, False):
        other = made.add(ops.GlobalPool("average"), other)
        other = made.add(ops.Reshape((shape[0], 1, 1)), other)
    kind = made.some("add", "add", "multiply", "subtract", "maximum", "minimum")
    return made.add(ops.Binary(kind), value, other)


def residual(made, value):
    """The sum of a value and a convolution of it, or of its mean over the picture."""
    shape = made.building.shapes[value]
    inner = made.some(value, value, batch_norm(made, value))
    weight = made.constant((shape[0], shape[0], 1, 1))
    inner = made.add(ops.Conv(weight), inner)
    inner = activation(made, inner) if made.some(True, False) else inner
    if made.some(True, False, False):
        inner = made.add(ops.Reshape((shape[0], 1, 1)), made.add(ops.GlobalPool("max"), inner))
    first, second = made.some((inner, value), (value, inner))
    return made.add(ops.Binary("add"), first, second)


def concatenate(made, value):
    _, height, width = made.building.shapes[value]
    others = [name for name in made.images if made.building.shapes[name][1:] == (height, width)]
    return made.add(ops.Concatenate(0), value, made.some(*others))


def pad(made, value):
    return made.add(ops.Pad(tuple(made.integers(0, 2) for _ in range(4))), value)


def turned(made, value):
    """Turned away and back, or half way: what a model with channels last leaves behind."""
    away = made.add(ops.Transpose((1, 2, 0)), value)
    return made.add(ops.Transpose(made.some((2, 0, 1), (0, 2, 1))), away)


def upsample(made, value):
    return made.add(ops.Upsample((made.integers(1, 2), 2)), value)


STEPS = (conv, conv, batch_norm, pool, activation, binary, residual, residual, concatenate, pad)
STEPS += (turned, upsample)


def head(made, value):
    """Flattened in either order or pooled, then dense layers."""
    way = made.some("flat", "turned", "pooled", "none")
    if way == "none":
        return value
    if way == "pooled":
        value = made.add(ops.GlobalPool(made.some("max", "average")), value)
    else:
        value = made.add(ops.Transpose((1, 2, 0)), value) if way == "turned" else value
        value = made.add(ops.Reshape((int(np.prod(made.building.shapes[value])),)), value)
    (size,) = made.building.shapes[value]
    weight, bias = made.constant((4, size), -0.3, 0.3), made.constant((4,))
    value = made.add(ops.Dense(weight, made.some(bias, "")), value)
    if made.some(True, False):
        value = batch_norm(made, value)
    return made.add(ops.Softmax(0), value) if made.some(True, False) else value


@st.composite
def graphs(draw) -> Graph:
    made = Drawn(draw, draw(st.integers(0, 2**16)))
    shape = (draw(st.integers(1, 4)), draw(st.integers(3, 7)), draw(st.integers(3, 7)))
    made.images.append(made.building.add_input("input", shape).value)
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

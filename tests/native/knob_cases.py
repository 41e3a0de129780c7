"""Layers of drawn shapes, many in one graph (an input and an output each), and knobs for them."""

from __future__ import annotations

import numpy as np

from assay.native import ops, reference
from assay.native.build import build
from assay.native.emit import emit
from assay.native.graph_builder import GraphBuilder
from assay.native.knobs.apply import apply_knobs
from assay.native.knobs.table import KNOBS
from assay.native.library import LoadedModel
from assay.native.passes.pipeline import optimize
from tests.native.rounding import rounding

COUNT = 3  # items
SOME = [13, 13, 13, 12, 14, 121, 124, 127, 129, 133, 138]
SOME += [51, 53, 231, 234, 237, 321, 329, 338, 431, 435, 439, 534, 538]
DEPTHWISE = 4  # layers beside them


class Drawn:
    """One graph, of as many layers as are asked for."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.building = GraphBuilder()
        self.outputs = []

    def constant(self, *shape):
        name = f"constant{len(self.building.constants)}"
        return self.building.constant(name, self.random.normal(0, 1, shape))

    def some(self, *choices):
        return choices[self.random.integers(len(choices))]

    def add(self, op, *values):
        return self.building.add(f"value{len(self.building.nodes)}", op, *values)

    def conv(self, name, kernel=0):
        """With what may follow it: a sum, an activation, a pool."""
        kernel = kernel or self.some(1, 1, 2, 3, 3, 5)
        size = [int(each) for each in self.random.integers(kernel + 1, 12, 2)]
        channels, out = self.some(1, 3, 4, 8, 17, 33), self.some(1, 4, 16, 20, 33, 70)
        value = self.building.add_input(f"{name}/input", (channels, *size)).value
        dilated = kernel > 1 and 2 * kernel < min(size) and self.some(True, False)
        op = ops.ConvOp(
            self.constant(out, channels, kernel, kernel),
            self.some(self.constant(out), ""),
            (self.some(1, 1, 2), self.some(1, 1, 2)),
            tuple(int(each) for each in self.random.integers(0, kernel, 4)),
            (1, 2) if dilated else (1, 1),
        )
        made = self.building.add(name, op, value)
        if self.some(True, False, False):
            made = self.add(ops.BinaryOp("add"), made, self.add(op, value))
        self.outputs.append(self.followed(made))

    def same(self, value, out, kernel):
        """A layer whose image is as large as the one it reads."""
        weight = self.constant(out, self.building.shapes[value][0], kernel, kernel)
        bias = self.some(self.constant(out), "")
        return self.add(ops.ConvOp(weight, bias, (1, 1), (kernel // 2,) * 4), value)

    def depthwise(self, name):
        """Windows and strides of every kind that a depthwise layer over bytes can have."""
        window = [self.some(1, 3, 3, 5), self.some(1, 2, 3, 3, 4)]
        size = [int(each) for each in self.random.integers(8, 14, 2)]
        channels = self.some(1, 8, 16, 33, 48)
        value = self.building.add_input(f"{name}/input", (channels, *size)).value
        op = ops.ConvOp(
            self.constant(channels, 1, *window),
            self.some(self.constant(channels), ""),
            (self.some(1, 1, 2), self.some(1, 1, 2)),
            tuple(int(each) for each in self.random.integers(0, 3, 4)),
            (self.some(1, 1, 2) if window[0] > 1 else 1, 1),
            groups=channels,
        )
        self.outputs.append(self.followed(self.building.add(name, op, value)))

    def followed(self, value):
        kind = self.some("relu", "tanh", "silu", "")
        value = self.add(ops.ActivationOp(kind), value) if kind else value
        shape = self.building.shapes[value]
        if len(shape) == 3 and min(shape[1:]) > 1 and self.some(True, False):
            value = self.add(ops.PoolOp("max", (2, 2), (2, 2)), value)
        return value

    def dense(self, name):
        shape = self.some((5,), (37,), (3, 20))
        value = self.building.add_input(f"{name}/input", shape).value
        out = self.some(1, 10, 40)
        op = ops.DenseOp(self.constant(out, shape[-1]), self.some(self.constant(out), ""))
        self.outputs.append(self.followed(self.building.add(name, op, value)))

    def graph(self):
        return optimize(self.building.graph("drawn", self.outputs))


def drawn(seed, numbers):
    """A layer for each knob, and the knobs."""
    made = Drawn(seed)
    for at, number in enumerate(numbers):
        kernel = 1 if KNOBS[number].name == "low_rank" else 0
        if KNOBS[number].kind == "dense":
            made.dense(f"layer{at}")
        else:
            made.conv(f"layer{at}", kernel)
    knobs = {f"layer{at}": number for at, number in enumerate(numbers)}
    for at in range(DEPTHWISE):
        made.depthwise(f"depthwise{at}")
        knobs[f"depthwise{at}"] = 13
    return made.graph(), knobs


def items_for(graph, seed=1):
    random = np.random.default_rng(seed)
    return tuple(
        random.normal(0, 1, (COUNT, *value.shape)).astype(np.float32) for value in graph.inputs
    )


def both(changed, items, tools, cache, threads=1):
    """Outputs of a program of a graph with knobs, and those of the oracle."""
    found, _ = of_program(changed, items, tools, cache, threads)
    return found, reference.outputs(changed, *items, dtype=np.float64)


def wrong(computed, meant, knobs, items, tools, cache, threads=1):
    """The layers that a program of `computed` has further from the oracle of `meant` than rounding
    explains: each with its knob, how far it is off, and what is allowed at most."""
    found, kernels = of_program(computed, items, tools, cache, threads)
    wanted = reference.outputs(meant, *items, dtype=np.float64)
    allowed = rounding(meant, kernels, items)
    return [
        (number, np.abs(mine - right).max(), may.max())
        for number, mine, right, may in zip(knobs.items(), found, wanted, allowed, strict=True)
        if not np.all(np.abs(mine - right) <= may)
    ]


def of_program(graph, items, tools, cache, threads):
    """Its outputs, and what computed each node."""
    emitted = emit(graph)
    engine = LoadedModel(build(emitted, tools, cache), emitted, COUNT, threads, seconds=0)
    found = engine.run(*items), engine.kernels
    engine.close()
    return found


def with_knobs(graph, knobs):
    items = items_for(graph)
    return apply_knobs(graph, knobs, items), items


def byte_chain(seed, filters):
    """Layers that hand bytes to each other, two of them with a sum and one with a pool, and a last
    one that gives floats."""
    made = Drawn(seed)
    value = made.building.add_input("input", (8, 8, 10)).value
    total, relu = ops.BinaryOp("add"), ops.ActivationOp("relu")
    first = made.add(relu, made.same(value, filters, 3))
    second = made.add(relu, made.add(total, made.same(first, filters, 3), first))
    third = made.add(total, made.same(second, filters, 1), second)
    fourth = made.add(relu, made.same(third, filters, 3))
    last = made.same(made.add(ops.PoolOp("max", (2, 2), (2, 2)), fourth), 5, 1)
    graph = optimize(made.building.graph("drawn", [last]))
    return graph, {node.name: 13 for node in graph.nodes if isinstance(node.op, ops.ConvOp)}

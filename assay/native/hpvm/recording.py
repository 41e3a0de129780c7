"""Read the graph that the shim of an HPVM-C program recorded.

hpvm-graph 1
data0 3 32 32                       an input tensor: channels, height, width
const0 32 3 3 3                     weights; the numbers are in constants.bin in this order
v0 = conv data0 const0 1 1 1 1 1    an operation, its tensors, its numbers
output v0
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

import numpy as np

from assay.core.errors import AssayError, UsageError
from assay.native import ops
from assay.native.graph import Array, Graph, Shape
from assay.native.graph_builder import GraphBuilder
from assay.native.hpvm.dataflow import Dataflow, Leaf, LeafOp
from assay.native.shapes import ShapeError

HEAD = "hpvm-graph 1"
NAME = "root"  # of the model's files


def read_recording(folder: Path) -> Graph:
    numbers = np.fromfile(folder / "constants.bin", np.float32)
    return _GraphReader(numbers).graph(_lines(folder))


def read_flow(folder: Path) -> Dataflow:
    """The operations without weights, in HPVM's numbering, for configurations."""
    leaves, tensors = [], {}
    for words in map(str.split, _lines(folder)):
        if words[0].startswith("const"):
            tensors[words[0]] = np.empty(0, np.float32)
        elif words[1:2] == ["="]:
            inputs = tuple(word for word in words[3:] if word[0].isalpha())
            leaf = Leaf(name=words[0], op=cast(LeafOp, words[2]), inputs=inputs, node=words[0])
            leaves.append(leaf)
    return Dataflow(name="this program", shape=(), classes=0, leaves=tuple(leaves), tensors=tensors)


def _lines(folder: Path) -> list[str]:
    lines = (folder / "graph.txt").read_text().splitlines()
    if not lines or lines[0] != HEAD:
        raise AssayError(
            f"{folder}/graph.txt is no graph of an HPVM-C program.", hint="Run it again."
        )
    return lines[1:]


class _GraphReader:
    """Values so far. A dense layer's output is a vector, for HPVM an image of one pixel."""

    def __init__(self, numbers: Array) -> None:
        self.builder = GraphBuilder()
        self.numbers = numbers
        self.constants: dict[str, Array] = {}
        self.values: dict[str, str] = {}

    def graph(self, lines: list[str]) -> Graph:
        outputs = []
        for line in lines:
            words = line.split()
            if words[0].startswith("data"):
                shape = tuple(map(int, words[1:]))
                tensor = self.builder.add_input(words[0], shape, "channels_first")
                self.values[words[0]] = tensor.value
            elif words[0].startswith("const"):
                self.constants[words[0]] = self.take_weights(tuple(map(int, words[1:])))
            elif words[0] == "output":
                outputs.append(self.values[words[1]])
            else:
                self.values[words[0]] = self.operation(words[0], words[2], words[3:])
        return self.builder.graph(NAME, outputs)

    def take_weights(self, shape: Shape) -> Array:
        size = math.prod(shape)
        array, self.numbers = self.numbers[:size].reshape(shape), self.numbers[size:]
        return array

    def operation(self, name: str, op: str, words: list[str]) -> str:
        try:
            match op:
                case "conv" | "group_conv":
                    return self.convolution(name, words)
                case "mul":
                    return self.product(name, words)
                case "add":
                    return self.sum(name, words)
                case "batchnorm":
                    return self.norm(name, words)
                case "pool_max" | "pool_mean":
                    return self.pool(name, op, words)
                case "softmax":
                    return self.builder.add(name, ops.SoftmaxOp(), self.values[words[0]])
                case _:
                    activation = ops.ActivationOp("tanh" if op == "tanh" else "relu")
                    return self.builder.add(name, activation, self.values[words[0]])
        except ShapeError as error:
            raise UsageError(
                f"The program's operation {op} ({name}) cannot be computed: {error}.",
                hint="Do the tensors have the sizes that HPVM's intrinsic takes?",
            ) from error

    def constant(self, name: str, array: Array) -> str:
        return self.builder.constant(name, array)

    def to_image(self, value: str) -> str:
        shape = self.builder.shapes[value]
        if len(shape) == 3:
            return value
        return self.builder.add(f"{value}/image", ops.ReshapeOp((*shape, 1, 1)), value)

    def convolution(self, name: str, words: list[str]) -> str:
        vertical, horizontal, down, right, groups = map(int, words[2:])
        op = ops.ConvOp(
            weight=self.constant(words[1], self.constants[words[1]]),
            strides=(down, right),
            pads=(vertical, horizontal, vertical, horizontal),
            groups=groups,
        )
        return self.builder.add(name, op, self.to_image(self.values[words[0]]))

    def product(self, name: str, words: list[str]) -> str:
        value, weight = self.values[words[0]], self.constants[words[1]]
        shape = self.builder.shapes[value]
        if len(shape) == 3:
            value = self.builder.add(f"{name}/flat", ops.ReshapeOp((math.prod(shape),)), value)
        transposed = self.constant(words[1], weight.reshape(weight.shape[2:]).T)
        return self.builder.add(name, ops.DenseOp(transposed), value)

    def sum(self, name: str, words: list[str]) -> str:
        """A sum; with weights it is a bias, which the passes fold."""
        values = [self.values[word] for word in words if word in self.values]
        rank = max(len(self.builder.shapes[value]) for value in values)
        if len(values) == 2 and rank == 3:
            values = [self.to_image(value) for value in values]
        for word in words:
            if word in self.constants:
                item = self.constants[word][0]
                bias = item if rank == 3 else item.reshape(-1)
                values.append(self.builder.add_constant(f"{name}/{word}", bias, tuple(range(rank))))
        return self.builder.add(name, ops.BinaryOp("add"), *values)

    def norm(self, name: str, words: list[str]) -> str:
        gamma, beta, mean, variance = (
            self.constant(word, self.constants[word].reshape(-1)) for word in words[1:5]
        )
        op = ops.BatchNormOp(
            mean=mean, variance=variance, gamma=gamma, beta=beta, epsilon=float(words[5])
        )
        return self.builder.add(name, op, self.values[words[0]])

    def pool(self, name: str, op: str, words: list[str]) -> str:
        high, wide, vertical, horizontal, down, right = map(int, words[1:])
        pool = ops.PoolOp(
            kind="max" if op == "pool_max" else "average",
            window=(high, wide),
            strides=(down, right),
            pads=(vertical, horizontal, vertical, horizontal),
        )
        return self.builder.add(name, pool, self.to_image(self.values[words[0]]))

"""Build a graph, and track the axis order of each tensor of the model."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from assay.native.graph import Array, Dtype, Graph, Layout, Node, Shape, Value, make_node
from assay.native.ops import ConstantOp, Op, TransposeOp

Order = tuple[int, ...]


class Tensor(msgspec.Struct, frozen=True):
    """A tensor of the model as a value of the graph.

    Axis i of the value is axis order[i] of the tensor. An image of a channels-last model is
    transposed once, as an input, and stays so until an operation needs its own order.
    """

    value: str
    order: Order


class GraphBuilder:
    """Nodes, shapes and constants so far."""

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.shapes: dict[str, Shape] = {}
        self.constants: dict[str, Array] = {}
        self.integers: set[str] = set()  # values of integers: row indices
        self._turned: dict[tuple[str, Order], str] = {}

    def add_input(
        self, name: str, shape: Shape, layout: Layout = "", dtype: Dtype = "float32"
    ) -> Tensor:
        value = self._unused_name(name)
        self.inputs.append(Value(value, shape, layout, dtype))
        self.shapes[value] = shape
        self.integers |= {value} if dtype == "int32" else set()
        return Tensor(value, tuple(range(len(shape))))

    def add(self, name: str, op: Op, *values: str) -> str:
        """The name of the new value."""
        pairs = [(value, self.shapes[value]) for value in values]
        node = make_node(self._unused_name(name), op, pairs, self.constants)
        self.nodes.append(node)
        self.shapes[node.output] = node.shape
        return node.output

    def constant(self, name: str, array: Any) -> str:
        """Add a constant and return its name; an equal one of this name is reused."""
        values = np.asarray(array, np.float32, order="C")  # also of no axes
        while name in self.constants and not np.array_equal(self.constants[name], values):
            name += "'"
        self.constants[name] = values
        return name

    def find_constant(self, array: Array) -> str:
        """Name of the constant with these values; "" if there is none."""
        names = (name for name, constant in self.constants.items() if constant.shape == array.shape)
        return next((name for name in names if np.array_equal(self.constants[name], array)), "")

    def add_constant(self, name: str, array: Any, order: Order) -> str:
        """A value that is the same for every item. Axis i is axis order[i] of the array, which
        gets leading axes of size 1 if it has too few."""
        values = np.asarray(array, np.float32)
        wide = values.reshape((1,) * (len(order) - values.ndim) + values.shape).transpose(order)
        return self.add(name, ConstantOp(self.constant(f"{name}/values", wide)))

    def shape(self, tensor: Tensor) -> Shape:
        """The shape in the tensor's own order."""
        sizes = self.shapes[tensor.value]
        return tuple(sizes[tensor.order.index(axis)] for axis in range(len(sizes)))

    def reorder(self, tensor: Tensor, order: Order | None = None) -> str:
        """The value whose axis i is the tensor's axis order[i]; None: its own order."""
        axes = tuple(range(len(tensor.order))) if order is None else order
        turn = tuple(tensor.order.index(axis) for axis in axes)
        if turn == tuple(range(len(turn))):
            return tensor.value
        key = (tensor.value, turn)
        if key not in self._turned:
            transposed = self.add(f"{tensor.value}/turned", TransposeOp(turn), tensor.value)
            inverse = tuple(turn.index(axis) for axis in range(len(turn)))
            self._turned |= {key: transposed, (transposed, inverse): tensor.value}
        return self._turned[key]

    def graph(self, name: str, outputs: list[str]) -> Graph:
        return Graph(
            name=name,
            inputs=tuple(self.inputs),
            nodes=tuple(self.nodes),
            outputs=tuple(outputs),
            constants=self.constants,
        )

    def _unused_name(self, name: str) -> str:
        unused, number = name, 1
        while unused in self.shapes:
            number += 1
            unused = f"{name}_{number}"
        return unused

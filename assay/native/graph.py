"""A model as a graph: operations in topological order, shapes, float32 constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from assay.core.errors import UsageError
from assay.native.ops import CastOp, Op, PoolOp, ReshapeOp, constants_of, kind_of
from assay.native.shapes import ShapeError, output_shape

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]  # of one item, without the batch
Dtype = Literal["float32", "int32", "uint8"]
Layout = Literal["", "channels_first", "channels_last"]  # of an image; "": not an image


class Value(msgspec.Struct, frozen=True):
    """An input of the graph, in the layout the model was written for."""

    name: str
    shape: Shape
    layout: Layout = ""
    dtype: Dtype = "float32"
    scale: float = 1.0


class Origin(msgspec.Struct, frozen=True):
    """An operation of the captured model."""

    name: str
    kind: str  # of `ops.kind_of`: conv, relu, max_pool, …


class Node(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One operation, which writes one value (SSA).

    A value is (stored number - `zero`) * `scale`; all is float32 unless a knob changes it.
    """

    name: str  # of the layer, if any
    op: Op
    inputs: tuple[str, ...]  # values; constants are named in the op
    output: str
    shape: Shape  # of the output
    dtype: Dtype = "float32"  # of the stored output
    scale: float = 1.0
    zero: int = 0
    sources: tuple[Origin, ...] = ()  # captured operations; () before any pass: itself
    kernel: str = ""  # forced kernel; "": the fastest

    @property
    def origins(self) -> tuple[Origin, ...]:
        return self.sources or (Origin(self.name, kind_of(self.op)),)

    @property
    def input(self) -> str:
        """The first input; "" for a constant."""
        return self.inputs[0] if self.inputs else ""


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """Validated on creation: topological order, names, shapes."""

    name: str
    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Array] = {}

    def __post_init__(self) -> None:
        shapes = {value.name: value.shape for value in self.inputs}
        for value in self.inputs:
            if value.layout and len(value.shape) != 3:
                raise _invalid_graph(f"the input '{value.name}' of {value.shape} is not an image")
        dtypes: dict[str, Dtype] = {}
        for node in self.nodes:
            _check_node(node, shapes, self.constants)
            _check_dtypes(node, dtypes)
            shapes[node.output] = node.shape
        for name in self.outputs:
            if name not in shapes:
                raise _invalid_graph(f"the output '{name}' is computed by no node")

    def shapes(self) -> dict[str, Shape]:
        """Shape of every value, by name."""
        values = {value.name: value.shape for value in self.inputs}
        return values | {node.output: node.shape for node in self.nodes}

    def readers(self) -> dict[str, list[Node]]:
        """The nodes that read each value."""
        readers: dict[str, list[Node]] = {name: [] for name in self.shapes()}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                readers[name].append(node)
        return readers


def make_node(
    name: str, op: Op, inputs: Sequence[tuple[str, Shape]], constants: Mapping[str, Array]
) -> Node:
    """A node that writes a value of its own name; infers the shape."""
    return Node(
        name=name,
        op=op,
        inputs=tuple(value for value, _ in inputs),
        output=name,
        shape=output_shape(op, [shape for _, shape in inputs], constants),
    )


def _check_node(node: Node, shapes: dict[str, Shape], constants: Mapping[str, Array]) -> None:
    for name in node.inputs:
        if name not in shapes:
            raise _invalid_graph(f"'{node.name}' reads '{name}', which no earlier node computes")
    if node.output in shapes:
        raise _invalid_graph(f"'{node.name}' writes '{node.output}', which exists already")
    for name in constants_of(node.op).values():
        if name not in constants:
            raise _invalid_graph(f"'{node.name}' needs the constant '{name}', which is missing")
    try:
        shape = output_shape(node.op, [shapes[name] for name in node.inputs], constants)
    except ShapeError as error:
        raise _invalid_graph(f"'{node.name}' cannot be computed: {error}") from error
    if shape != node.shape:
        raise _invalid_graph(f"'{node.name}' gives {shape}, not {node.shape} as it says")


def _check_dtypes(node: Node, dtypes: dict[str, Dtype]) -> None:
    """Only quantized layers, max pools and reshapes may read or write bytes."""
    dtypes[node.output] = node.dtype
    first = dtypes.get(node.input, "float32")
    if isinstance(node.op, CastOp) or "uint8" not in (first, node.dtype):
        return
    quantized = bool(getattr(node.op, "scales", ""))
    moves = isinstance(node.op, ReshapeOp) or (
        isinstance(node.op, PoolOp) and node.op.kind == "max" and not node.op.post
    )
    if not (quantized and first == "uint8") and not (moves and first == node.dtype):
        raise _invalid_graph(f"'{node.name}' reads {first} and writes {node.dtype}")


def _invalid_graph(what: str) -> UsageError:
    return UsageError(f"Invalid graph: {what}.", hint="Capture the model again.")

"""An ONNX model → Graph. What the graph has no operation for is refused by its name and node."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from assay.core.errors import UsageError
from assay.native import expected
from assay.native.expected import ReferenceOutputs
from assay.native.graph import Array, Graph, Shape
from assay.native.graph_builder import GraphBuilder
from assay.native.onnx.model import (
    DTYPES,
    TYPES,
    OnnxModel,
    OnnxOp,
    OnnxValue,
    read_model,
    type_name,
)
from assay.native.ops import Op
from assay.native.passes.pipeline import eliminate_dead_code
from assay.native.shapes import ShapeError

if TYPE_CHECKING:
    from assay.native.onnx.integers import Integers

_FLOAT, _OTHER_FLOATS = 1, {10, 11}  # of TensorProto.DataType; float16 and float64


def read_onnx(path: str | Path, shapes: Mapping[str, Shape] | None = None) -> Graph:
    """The graph of an ONNX file, whose first axes are batches.

    `shapes` are those of items, by the names of inputs, where the file leaves sizes open.

    >>> read_onnx("resnet18.onnx").inputs
    (Value(name='input', shape=(3, 224, 224), layout='channels_first', dtype='float32'),)
    """
    return Importing(read_model(path), shapes or {}).graph()


class ImportedModel(msgspec.Struct, frozen=True):
    """The graph of an ONNX file, and how its inputs and outputs relate to those of the file."""

    graph: Graph
    batched: bool = True  # False: the file has no batch; an item of the graph is a whole input

    def batches(self, arrays: Sequence[Array]) -> list[Array]:
        """Inputs of the file as those of the graph."""
        return [array if self.batched else array[None] for array in arrays]

    def in_file_shape(self, outputs: Sequence[Array]) -> list[Array]:
        """Outputs of the graph as those of the file."""
        return [output if self.batched else output[0] for output in outputs]


def import_model(model: OnnxModel, shapes: Mapping[str, Shape] | None = None) -> ImportedModel:
    return ImportedModel(Importing(model, shapes or {}).graph())


class BatchPlace(msgspec.Struct, frozen=True):
    """Where a value of the file has its batch."""

    axis: int = 0
    joined: bool = False  # with an axis of the items: (batch * k, …) in the file, (k, …) here


FIRST = BatchPlace()


class Importing:
    """Values of the file so far: those that are computed, and those that are known."""

    def __init__(self, model: OnnxModel, shapes: Mapping[str, Shape]) -> None:
        self.model, self.building, self._shapes = model, GraphBuilder(), shapes
        self.values: dict[str, str] = {}  # name in the file → value of the graph
        self.known: dict[str, Array] = dict(model.weights)
        self.integers: dict[str, Integers] = {}  # of those values that are, or true and false
        self.used = {name for node in model.nodes for name in node.inputs}
        self.used |= {value.name for value in model.outputs}
        self.places: dict[str, BatchPlace] = {}  # of batches that are not the first axis by itself
        self.batch = 0  # of the inputs, where the file fixes it

    def graph(self) -> Graph:
        from assay.native.onnx.operators import add_operator

        for value in self.model.inputs:
            self._input(value)
        for node in self.model.nodes:
            try:
                add_operator(self, node)
            except ShapeError as error:
                raise refused(node, str(error)) from None
        outputs = [self._output(value) for value in self.model.outputs]
        return eliminate_dead_code(self.building.graph(self.model.name, outputs))

    def _input(self, value: OnnxValue) -> None:
        from assay.native.onnx.integers import integers_of

        if value.dtype not in DTYPES or value.dtype in _OTHER_FLOATS:
            supported = ", ".join(TYPES[each] for each in DTYPES if each not in _OTHER_FLOATS)
            raise _unfit(
                f"The input '{value.name}' is of type {type_name(value.dtype)}; "
                f"supported: {supported}."
            )
        batch, *sizes = value.shape or (0,)
        shape = self._shapes.get(value.name, tuple(sizes))
        if not shape or 0 in shape:
            raise _unfit(
                f"The input '{value.name}' is of shape {value.shape or '()'}, where 0 is not known."
            )
        if batch and self.batch and batch != self.batch:
            raise _unfit(
                f"The input '{value.name}' has a batch of {batch}, and another one of {self.batch}."
            )
        self.batch = self.batch or batch
        layout: Any = "channels_first" if len(shape) == 3 and value.dtype == _FLOAT else ""
        dtype: Any = "float32" if value.dtype == _FLOAT else "int32"
        tensor = self.building.add_input(value.name, shape, layout, dtype)
        self.values[value.name] = tensor.value
        if integers := integers_of(value.dtype):
            self.integers[value.name] = integers

    def _output(self, value: OnnxValue) -> str:
        if value.name in self.known:
            raise _unfit(f"The output '{value.name}' does not depend on the inputs.")
        if value.name not in self.values:
            raise _unfit(f"The output '{value.name}' is not computed.")
        if value.name in self.integers:
            kind = type_name(self.integers[value.name].type)
            raise _unfit(f"The output '{value.name}' is of type {kind}, not float32.")
        if value.name in self.places:
            made = next(node for node in self.model.nodes if value.name in node.outputs)
            place = self.places[value.name]
            where = "joined with another axis" if place.joined else f"axis {place.axis}"
            raise refused(made, f"the batch of the output '{value.name}' is {where}")
        return self.values[value.name]

    def shape(self, value: str) -> Shape:
        """Of one item of a value of the graph."""
        return self.building.shapes[value]

    def add(self, node: OnnxOp, op: Op, *values: str) -> str:
        return self.building.add(node.name or node.outputs[0], op, *values)

    def weight(self, node: OnnxOp, number: int) -> Array:
        """An input that has to be known."""
        name = node.inputs[number]
        if name not in self.known:
            raise refused(node, f"its input '{name}' is computed, not known")
        return self.known[name]

    def pair(self, node: OnnxOp, names: Sequence[str]) -> list[str]:
        """Two operands of one rank, of which one may be known."""
        ranks = {len(self.shape(self.values[name])) for name in names if name in self.values}
        if len(ranks) > 1:
            raise refused(node, "its inputs have different numbers of axes")
        (rank,) = ranks
        return [
            self.values[name] if name in self.values else self.fixed(node, self.known[name], rank)
            for name in names
        ]

    def fixed(self, node: OnnxOp, numbers: Any, rank: int) -> str:
        """Known numbers as a value of so many axes. One of the batch may stand before them: of size
        1, or of the file's own batch, if all its items have the same numbers."""
        values = np.asarray(numbers, np.float32)
        if values.ndim > rank:
            same = len(values) in (1, self.batch) and np.array_equal(
                values, np.broadcast_to(values[:1], values.shape), equal_nan=True
            )
            if values.ndim > rank + 1 or not same:
                raise refused(node, f"numbers of {values.shape} for items of {rank} axes")
            values = values[0]
        return self.building.add_constant(f"{node.outputs[0]}/known", values, tuple(range(rank)))


def refused(node: OnnxOp, why: str) -> UsageError:
    called = f" '{node.name}'" if node.name else ""
    return UsageError(
        f"The node{called} that gives '{', '.join(node.outputs)}' is a {node.kind} that cannot be "
        f"compiled: {why}.",
        hint="onnxruntime and openvino run such a model as it is.",
    )


def item_axis(node: OnnxOp, axis: int, rank: int) -> int:
    """Of an item of `rank` axes, from one that counts the batch."""
    found = axis - 1 if axis >= 0 else axis + rank
    if not 0 <= found < rank:
        raise refused(node, f"axis {axis} is the batch, or is not there")
    return found


def item_axes(node: OnnxOp, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    return tuple(sorted(item_axis(node, int(axis), rank) for axis in axes))


def _unfit(what: str) -> UsageError:
    return UsageError(what, hint="Only the batch may be open, and items are float32 or integers.")


def judged(path: str | Path, graph: Graph) -> ReferenceOutputs:
    """By the numpy reference where ONNX Runtime is not here: it knows the graph, not the file."""
    if not importlib.util.find_spec("onnxruntime"):
        return expected.sample_reference(graph)
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    errors = tuple(
        each
        for each in vars(state).values()
        if isinstance(each, type) and issubclass(each, Exception)
    )
    items = expected.sample_items(graph)
    try:
        session = onnxruntime.InferenceSession(
            str(Path(path).expanduser()), providers=["CPUExecutionProvider"]
        )
        outputs = _session_outputs(session, graph, items)
    except errors as error:
        raise UsageError(
            f"ONNX Runtime cannot run {path}: {' '.join(str(error).split())}",
            hint="Its outputs are what a program is checked with.",
        ) from None
    return ReferenceOutputs(judge="ONNX Runtime", inputs=items, outputs=outputs)


def _session_outputs(session: Any, graph: Graph, items: Sequence[Array]) -> tuple[Array, ...]:
    kinds = {
        each.name: each.type.removeprefix("tensor(").rstrip(")") for each in session.get_inputs()
    }
    arrays = {
        value.name: array.astype(kinds[value.name].replace("float", "float32"))
        for value, array in zip(graph.inputs, items, strict=True)
    }
    fixed = session.get_inputs()[0].shape[0]
    size = fixed if isinstance(fixed, int) else expected.ITEMS
    parts = [
        session.run(None, {name: _batch(array, at, size) for name, array in arrays.items()})
        for at in range(0, expected.ITEMS, size)
    ]
    return tuple(np.concatenate(each)[: expected.ITEMS] for each in zip(*parts, strict=True))


def _batch(array: Array, first: int, size: int) -> Array:
    """As many items as the file wants, from the first again where there are no more."""
    return array[np.arange(first, first + size) % len(array)]

"""An ONNX model → Graph. What the graph has no operation for is refused by its name and node."""

from __future__ import annotations

import importlib.util
import math
import re
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
    MAX_SIZE,
    TYPES,
    OnnxModel,
    OnnxOp,
    OnnxValue,
    read_model,
    type_name,
    unsupported_file,
)
from assay.native.ops import Op, ReshapeOp
from assay.native.passes.pipeline import eliminate_dead_code
from assay.native.shapes import ShapeError

if TYPE_CHECKING:
    from assay.native.onnx.integers import Integers

_FLOAT, _OTHER_FLOATS = 1, {10, 11}  # of TensorProto.DataType; float16 and float64


def read_onnx(path: str | Path) -> Graph:
    """The graph of an ONNX file.

    >>> read_onnx("resnet18.onnx").inputs
    (Value(name='input', shape=(3, 224, 224), layout='channels_first', dtype='float32'),)
    """
    return import_onnx(path).graph


def import_onnx(path: str | Path, shapes: Mapping[str, Shape] | None = None) -> ImportedModel:
    """`shapes` are those of the inputs by name, with the batch, where the file leaves them open."""
    return import_model(read_model(path), shapes)


class ImportedModel(msgspec.Struct, frozen=True):
    """The graph of an ONNX file, and how its inputs and outputs relate to those of the file."""

    graph: Graph
    dtypes: tuple[str, ...]  # of the file's outputs, whose values are float32 here
    batched: bool = True  # False: the first axes are no batch; an item is a whole input
    limits: expected.Limits = {}  # of inputs of integers, as far as int32 holds them

    def batches(self, arrays: Sequence[Array]) -> list[Array]:
        """Inputs of the file as those of the graph."""
        return [array if self.batched else array[None] for array in arrays]

    def in_file_shape(self, outputs: Sequence[Array]) -> list[Array]:
        """Outputs of the graph as those of the file."""
        return [
            np.asarray(output if self.batched else output[0], dtype)
            for output, dtype in zip(outputs, self.dtypes, strict=False)
        ]


def import_model(model: OnnxModel, shapes: Mapping[str, Shape] | None = None) -> ImportedModel:
    """The first axes are the batch, if the model computes item by item, else whole inputs are."""
    shapes = shapes or {}
    try:
        return _import(model, shapes, batched=True)
    except UsageError as error:
        sizes = {value.name: shapes.get(value.name, value.shape) for value in model.inputs}
        if any(shape is None or 0 in shape for shape in sizes.values()):
            raise
        first = error
    try:
        return _import(model, shapes, batched=False)
    except UsageError as error:
        raise error from first


def _import(model: OnnxModel, shapes: Mapping[str, Shape], batched: bool) -> ImportedModel:
    importing = Importing(model, shapes, batched)
    graph = importing.graph()
    for name, shape in graph.shapes().items():
        if math.prod(shape) > MAX_SIZE:
            raise unsupported_file(f"'{name}' has the sizes {shape}, more than {MAX_SIZE} values.")
    dtypes = (importing.integers.get(value.name) for value in model.outputs)
    names = tuple(type_name(each.type) if each else "float32" for each in dtypes)
    return ImportedModel(graph, names, batched, _limits(model))


def _limits(model: OnnxModel) -> expected.Limits:
    from assay.native.onnx.integers import integers_of

    least, most = -(2**31), 2**31 - 1
    types = {value.name: integers_of(value.dtype) for value in model.inputs}
    return {
        name: (max(each.low, least), min(each.high, most)) for name, each in types.items() if each
    }


class BatchPlace(msgspec.Struct, frozen=True):
    """Where a value of the file has its batch."""

    axis: int = 0
    joined: bool = False  # with an axis of the items: (batch * k, …) in the file, (k, …) here


FIRST = BatchPlace()


class Importing:
    """Values of the file so far: those that are computed, and those that are known."""

    def __init__(self, model: OnnxModel, shapes: Mapping[str, Shape], batched: bool = True) -> None:
        self.model, self.building, self._shapes = model, GraphBuilder(), shapes
        self.batched = batched  # False: an item of the graph is all of what the file has
        self.values: dict[str, str] = {}  # name in the file → value of the graph
        self.known: dict[str, Array] = dict(model.weights)
        self.integers: dict[str, Integers] = {}  # of those values that are, or true and false
        self.used = {name for node in model.nodes for name in node.inputs}
        self.used |= {value.name for value in model.outputs}
        self.places: dict[str, BatchPlace] = {}  # of batches that are not the first axis by itself
        self.batch = 0  # of the inputs, where the file fixes it

    def graph(self) -> Graph:
        from assay.native.onnx.operators import add_operator

        if not self.model.inputs:
            raise _unfit("The file has no inputs.")
        for value in self.model.inputs:
            self._input(value)
        for node in self.model.nodes:
            try:
                add_operator(self, node)
            except ShapeError as error:
                raise refusal(node, str(error)) from None
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
        shape = self._shapes.get(value.name, value.shape)
        shape = self._item_shape(value, shape) if self.batched else shape
        if shape is None or 0 in shape:
            raise _unfit(f"The input '{value.name}' is of shape {value.text}.")
        layout: Any = "channels_first" if len(shape) == 3 and value.dtype == _FLOAT else ""
        dtype: Any = "float32" if value.dtype == _FLOAT else "int32"
        tensor = self.building.add_input(value.name, shape, layout, dtype)
        self.values[value.name] = tensor.value
        if integers := integers_of(value.dtype):
            self.integers[value.name] = integers

    def _item_shape(self, value: OnnxValue, shape: Shape | None) -> Shape:
        if not shape or 0 in shape[1:] or not shape[1:]:
            raise _unfit(f"The input '{value.name}' is of shape {value.text}.")
        batch = (value.shape or (0,))[0]
        if batch and self.batch and batch != self.batch:
            raise _unfit(
                f"The input '{value.name}' has a batch of {batch}, and another one of {self.batch}."
            )
        self.batch = self.batch or batch
        return shape[1:]

    def _output(self, value: OnnxValue) -> str:
        if value.name in self.known:
            return self._constant_output(value)
        if value.name not in self.values:
            raise _unfit(f"The output '{value.name}' is not computed.")
        if value.name in self.integers and not self.integers[value.name].exact:
            kind = type_name(self.integers[value.name].type)
            raise _unfit(f"The output '{value.name}' is of type {kind}, and may exceed 16777216.")
        if value.name in self.places:
            node = next(other for other in self.model.nodes if value.name in other.outputs)
            place = self.places[value.name]
            where = "joined with another axis" if place.joined else f"axis {place.axis}"
            raise refusal(node, f"the batch of the output '{value.name}' is {where}")
        return self.values[value.name]

    def _constant_output(self, value: OnnxValue) -> str:
        from assay.native.onnx.integers import operand

        numbers, integers = self.known[value.name], operand(self, value.name)
        if self.batched or not numbers.size:
            raise _unfit(f"The output '{value.name}' does not depend on the inputs.")
        if not (integers.exact if integers else numbers.dtype == np.float32):
            raise _unfit(f"The output '{value.name}' of {numbers.dtype} is not exact in float32.")
        if integers:
            self.integers[value.name] = integers
        return self.building.add_constant(value.name, numbers, tuple(range(numbers.ndim)))

    def shape(self, value: str) -> Shape:
        """Of one item of a value of the graph."""
        return self.building.shapes[value]

    def add(self, node: OnnxOp, op: Op, *values: str) -> str:
        return self.building.add(node.name or node.outputs[0], op, *values)

    def item_axis(self, node: OnnxOp, axis: int, rank: int) -> int:
        """Of an item of `rank` axes, from one that counts the batch."""
        position = axis - self.batched if axis >= 0 else axis + rank
        if not 0 <= position < rank:
            raise refusal(node, f"axis {axis} is the batch, or does not exist")
        return position

    def item_axes(self, node: OnnxOp, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        return tuple(sorted(self.item_axis(node, int(axis), rank) for axis in axes))

    def weight(self, node: OnnxOp, number: int) -> Array:
        """An input that has to be known."""
        name = node.inputs[number]
        if name not in self.known:
            raise refusal(node, f"its input '{name}' is computed, not known")
        return self.known[name]

    def pair(self, node: OnnxOp, names: Sequence[str]) -> list[str]:
        """Operands of one rank, which may be computed or known."""
        ranks = [len(self.shape(self.values[name])) for name in names if name in self.values]
        if self.batched and len(set(ranks)) > 1:
            raise refusal(node, "its inputs have different numbers of axes")
        known = [] if self.batched else [self.known[n].ndim for n in names if n in self.known]
        rank = max(ranks + known)
        return [
            self.with_rank(node, self.values[name], rank)
            if name in self.values
            else self.as_constant(node, self.known[name], rank)
            for name in names
        ]

    def item(self, node: OnnxOp, value: str, shape: Shape) -> str:
        """The value in another shape, which has an axis beside the batch."""
        if self.batched and not shape:
            raise refusal(node, "it leaves no axis but the batch")
        return value if self.shape(value) == shape else self.add(node, ReshapeOp(shape), value)

    def with_rank(self, node: OnnxOp, value: str, rank: int) -> str:
        """With leading axes of size 1."""
        shape = self.shape(value)
        wide = (1,) * (rank - len(shape)) + shape
        return value if wide == shape else self.add(node, ReshapeOp(wide), value)

    def as_constant(self, node: OnnxOp, numbers: Any, rank: int) -> str:
        """Known numbers as a value of so many axes. One of the batch may stand before them: of size
        1, or of the file's own batch, if all its items have the same numbers."""
        values = np.asarray(numbers, np.float32)
        if values.ndim > rank:
            same = len(values) in (1, self.batch) and np.array_equal(
                values, np.broadcast_to(values[:1], values.shape), equal_nan=True
            )
            if values.ndim > rank + 1 or not same:
                raise refusal(node, f"numbers of {values.shape} for items of {rank} axes")
            values = values[0]
        return self.building.add_constant(f"{node.outputs[0]}/known", values, tuple(range(rank)))


def refusal(node: OnnxOp, why: str) -> UsageError:
    called = f" '{node.name}'" if node.name else ""
    return UsageError(
        f"The node{called} that gives '{', '.join(node.outputs)}' is a {node.kind} that cannot be "
        f"compiled: {why}.",
        hint="onnxruntime and openvino run such a model as it is.",
    )


def _unfit(what: str) -> UsageError:
    return UsageError(what, hint="Only the batch may be open, and items are float32 or integers.")


def onnx_reference(path: str | Path, imported: ImportedModel) -> ReferenceOutputs:
    """By the numpy reference where ONNX Runtime is not here: it knows the graph, not the file."""
    if not importlib.util.find_spec("onnxruntime"):
        return expected.sample_reference(imported.graph)
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    classes = (each for each in vars(state).values() if isinstance(each, type))
    errors = tuple(each for each in classes if issubclass(each, Exception))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # a failure is an exception below
    try:
        session = onnxruntime.InferenceSession(
            str(Path(path).expanduser()), options, providers=["CPUExecutionProvider"]
        )
        return _judged_by(session, imported, errors)
    except errors as error:
        raise UsageError(
            f"ONNX Runtime cannot run {path}: {runtime_message(error)}",
            hint="Its outputs are what a program is checked with.",
        ) from None


def runtime_message(error: Exception) -> str:
    """Without the names of ONNX Runtime's own source files and functions."""
    return re.sub(r"/onnxruntime_src/.*?\)\s", " ", str(error).strip().partition("\n")[0])


def _judged_by(
    session: Any, imported: ImportedModel, errors: tuple[type[Exception], ...]
) -> ReferenceOutputs:
    """Without integers at their limits where these are out of range, as indices may be."""
    for limits in (imported.limits, None):
        items = expected.sample_items(imported.graph, limits)
        try:
            outputs = _session_outputs(session, imported, items)
            return ReferenceOutputs(judge="ONNX Runtime", inputs=items, outputs=outputs)
        except errors:
            continue
    first = tuple(each[: expected.ITEMS] for each in items)
    outputs = _session_outputs(session, imported, first)
    return ReferenceOutputs(judge="ONNX Runtime", inputs=first, outputs=outputs)


def _session_outputs(
    session: Any, imported: ImportedModel, items: Sequence[Array]
) -> tuple[Array, ...]:
    types = {each.name: each.type for each in session.get_inputs()}  # as tensor(int64)
    arrays = {
        value.name: array.astype(types[value.name][len("tensor(") : -1].replace("float", "f4"))
        for value, array in zip(imported.graph.inputs, items, strict=True)
    }
    count = len(items[0])
    if not imported.batched:
        parts = [session.run(None, {n: a[row] for n, a in arrays.items()}) for row in range(count)]
        return tuple(np.stack(each).astype(np.float32) for each in zip(*parts, strict=True))
    fixed = session.get_inputs()[0].shape[0]
    size = fixed if isinstance(fixed, int) else count
    parts = [
        session.run(None, {name: _batch(array, at, size) for name, array in arrays.items()})
        for at in range(0, count, size)
    ]
    outputs = (np.concatenate(each)[:count] for each in zip(*parts, strict=True))
    return tuple(output.astype(np.float32) for output in outputs)


def _batch(array: Array, first: int, size: int) -> Array:
    """As many items as the file wants, from the first again where there are no more."""
    return array[np.arange(first, first + size) % len(array)]

"""Capture a Keras model's layers in topological order, each by the handler of its class."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import keras

from assay.core.errors import UsageError
from assay.native.capture import _attention, _images, _layers, _norms, _operators, unsupported
from assay.native.capture._custom_layers import as_symbolic, is_custom, trace_layer
from assay.native.capture._layers import Handler
from assay.native.capture._nodes import origin, topological_order
from assay.native.capture._supported import (
    KEYWORDS,
    check_call,
    check_layer,
    check_masks,
    check_model,
    check_results,
    check_settings,
)
from assay.native.graph import Graph, Layout
from assay.native.graph_builder import GraphBuilder, Tensor
from assay.native.passes.pipeline import eliminate_dead_code
from assay.native.shapes import ShapeError

HANDLERS: dict[type, Handler] = {
    **_attention.HANDLERS,
    **_images.HANDLERS,
    **_layers.HANDLERS,
    **_norms.HANDLERS,
}


def names() -> tuple[str, ...]:
    return tuple(sorted(kind.__name__ for kind in HANDLERS))


def capture_graph(model: Any, name: str) -> Graph:
    model = _functional(model)
    _check(model)
    if len(batches := {tensor.shape[0] for tensor in model.inputs}) > 1:
        raise UsageError(
            f"The inputs of '{model.name}' have the batch sizes {sorted(map(str, batches))}.",
            hint="Leave the batch size open.",
        )
    builder = GraphBuilder()
    single = len(model.inputs) == 1
    layout = _layout(model)
    inputs = [_input(builder, tensor, single, layout) for tensor in model.inputs]
    outputs = _walk(builder, model, inputs, "")
    if any(tensor.value in builder.integers for tensor in outputs):
        raise unsupported("giving integers", model.name, ("outputs of float32",))
    values = [builder.reorder(tensor) for tensor in outputs]
    return eliminate_dead_code(builder.graph(name or model.name, values))


def _functional(model: Any) -> Any:
    """Convert a subclassed model to a functional one, by a call on an input of its build shape."""
    if not isinstance(model, keras.Model) or isinstance(model, keras.Sequential):
        return model
    shape = (model.get_build_config() or {}).get("input_shape") if model.built else None
    if _has_layers(model) or not isinstance(shape, list | tuple) or not is_custom(model):
        return model
    tensor = keras.Input(tuple(shape[1:]))
    with as_symbolic(model, model.name):
        return keras.Model(tensor, model(tensor), name=model.name)


def _check(model: Any) -> None:
    if not isinstance(model, keras.Model):
        raise UsageError(
            f"This is a {type(model).__name__}, but a keras.Model can be captured.",
            hint="Give a sequential or functional model.",
        )
    if not _has_layers(model):
        raise UsageError(
            f"The model '{model.name}' is a {type(model).__name__} without a list of its layers.",
            hint="Build it with its input shape, model.build((None, 32, 32, 3)), or give a "
            "functional model.",
        )
    check_model(model, model.name)


def _has_layers(model: Any) -> bool:
    if isinstance(model, keras.Sequential):
        return bool(model.built and model.inputs)
    return hasattr(model, "operations") and bool(getattr(model, "inputs", None))


def _layout(model: Any) -> Layout:
    """The layout of the model's images: that of its layers if they agree, else Keras' setting."""
    formats = set(_data_formats(model))
    chosen: Layout = formats.pop() if len(formats) == 1 else keras.config.image_data_format()
    return chosen


def _data_formats(model: Any) -> Iterator[Layout]:
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from _data_formats(layer)
        elif getattr(layer, "data_format", None):
            yield layer.data_format


def _input(builder: GraphBuilder, tensor: Any, single: bool, layout: Layout) -> Tensor:
    """A single input is named `input`: Keras' names are numbered differently in each process."""
    name = "input" if single else str(origin(tensor).operation.name)
    shape = tuple(tensor.shape[1:])
    known = tensor.dtype in ("float32", "int32", "int64")
    if not known or tensor.sparse or tensor.ragged or not shape:
        kind = "sparse " if tensor.sparse else "ragged " if tensor.ragged else ""
        raise UsageError(
            f"The input '{name}' is {kind}{tensor.dtype} of shape {shape}, which cannot be "
            "captured.",
            hint="Dense float32, int32 or int64 inputs of one axis or more can.",
        )
    if None in shape:
        raise UsageError(
            f"The input '{name}' is of shape {shape}, but every size has to be known.",
            hint="Build the model with a fixed input shape; only the batch is free.",
        )
    if tensor.dtype != "float32":
        return builder.add_input(name, shape, dtype="int32")
    result = builder.add_input(name, shape, layout if len(shape) == 3 else "")
    if layout == "channels_first" or len(shape) != 3:
        return result
    # transpose first, so that the first layers work on channels, rows, columns
    return Tensor(builder.reorder(result, _images.LAST), _images.LAST)


def _walk(builder: GraphBuilder, model: Any, inputs: Sequence[Tensor], path: str) -> list[Tensor]:
    known = {id(tensor): value for tensor, value in zip(model.inputs, inputs, strict=True)}
    for node in topological_order(model.outputs, model.inputs):
        if node.is_input:
            raise unsupported("reading a tensor of another call", f"{path}…", ("its inputs",))
        layer_inputs = [known[id(tensor)] for tensor in node.input_tensors]
        layer_outputs = _layer(builder, node.operation, node, layer_inputs, path)
        check_masks(node, f"{path}{node.operation.name}")
        known |= {id(t): value for t, value in zip(node.output_tensors, layer_outputs, strict=True)}
    return [known[id(tensor)] for tensor in model.outputs]


def _layer(
    builder: GraphBuilder, layer: Any, node: Any, inputs: list[Tensor], path: str
) -> list[Tensor]:
    name = f"{path}{layer.name}"
    if isinstance(layer, keras.Model) and _has_layers(layer):
        check_call(layer, node, name)
        _check_inner(layer, node, name)
        return _walk(builder, layer, inputs, f"{name}/")
    try:
        if not isinstance(layer, keras.layers.Layer):
            # without Keras' number, which differs in each trace
            op_name = re.sub(r"_\d+$", "", name) if path else name
            return _operation(builder, layer, node, inputs, op_name)
        if type(layer) not in HANDLERS and is_custom(layer):
            return _custom_layer(builder, layer, node, inputs, name)
        return [_by_handler(builder, layer, node, inputs, name)]
    except ShapeError as error:
        raise UsageError(
            f"The layer '{name}' cannot be captured: {error}.",
            hint="Does the model compute an output in Keras?",
        ) from error


def _by_handler(
    builder: GraphBuilder, layer: Any, node: Any, inputs: list[Tensor], name: str
) -> Tensor:
    """By the exact class: a subclass may compute something else."""
    handler = HANDLERS.get(type(layer))
    if handler is None:
        raise unsupported(f"a {type(layer).__name__}", name, names())
    check_call(layer, node, name)
    check_layer(layer, name)
    keys = KEYWORDS.get(type(layer), set()) & set(node.arguments.kwargs)
    kwargs = {key: node.arguments.kwargs[key] for key in keys}
    output = handler(builder, layer, inputs, name, **kwargs)
    check_settings(layer, name)  # last: handlers have better messages
    return output


def _custom_layer(
    builder: GraphBuilder, layer: Any, node: Any, inputs: list[Tensor], name: str
) -> list[Tensor]:
    """A custom layer, by the operations of its call."""
    shapes = [builder.shape(tensor) for tensor in inputs]
    with trace_layer(layer, node, shapes, name) as trace:
        outputs = _walk(builder, trace, inputs, f"{name}/")
    shapes_here = [builder.shape(tensor) for tensor in outputs]
    keras_shapes = [tuple(tensor.shape[1:]) for tensor in node.output_tensors]
    if shapes_here != keras_shapes:
        raise unsupported(
            f"giving {shapes_here}, but {keras_shapes} in Keras", name, ("one shape",)
        )
    return outputs


def _operation(
    builder: GraphBuilder, operation: Any, node: Any, inputs: list[Tensor], name: str
) -> list[Tensor]:
    """An operation of keras.ops."""
    operator = _operators.operator(operation)
    if operator is None:
        what = f"a {type(operation).__name__} of keras.ops"
        raise unsupported(what, name, tuple(sorted(_operators.OPERATORS)))
    integers = type(operation).__name__ in _operators.INTEGER_OPS
    check_results(node, name, ("float32", "int32", "int64") if integers else ("float32",))
    tensors = {id(tensor): value for tensor, value in zip(node.input_tensors, inputs, strict=True)}
    outputs = operator(
        builder, operation, _operators.arguments(operation, node, tensors, name), name
    )
    for tensor, value in zip(node.output_tensors, outputs, strict=True):
        builder.integers |= set() if tensor.dtype == "float32" else {value.value}
    return outputs


def _check_inner(model: Any, node: Any, name: str) -> None:
    """Keras adds a missing axis to inputs of a nested model; here they must fit."""
    check_model(model, name)
    expected = [tuple(tensor.shape[1:]) for tensor in model.inputs]
    received = [tuple(tensor.shape[1:]) for tensor in node.input_tensors]
    if received != expected:
        raise unsupported(f"a model of inputs {expected} given {received}", name, ("its own",))

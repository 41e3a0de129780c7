"""A Keras model's layers in the order they are computed, each given to what captures its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import keras

from assay.core.errors import UsageError
from assay.native.capture import _attention, _images, _layers, _norms, _operators, unsupported
from assay.native.capture._custom_layers import as_symbolic, is_own, opened
from assay.native.capture._layers import Handler
from assay.native.capture._nodes import in_order, origin
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
from assay.native.graph_builder import Building, Tensor
from assay.native.passes.pipeline import drop_dead
from assay.native.shapes import ShapeError

HANDLERS: dict[type, Handler] = {
    **_attention.HANDLERS,
    **_images.HANDLERS,
    **_layers.HANDLERS,
    **_norms.HANDLERS,
}


def names() -> tuple[str, ...]:
    return tuple(sorted(kind.__name__ for kind in HANDLERS))


def captured(model: Any, name: str) -> Graph:
    model = _functional(model)
    _check(model)
    if len(batches := {tensor.shape[0] for tensor in model.inputs}) > 1:
        raise UsageError(
            f"The inputs of '{model.name}' have the batch sizes {sorted(map(str, batches))}.",
            hint="Leave the batch size open.",
        )
    building = Building()
    alone = len(model.inputs) == 1
    layout = _layout(model)
    inputs = [_input(building, tensor, alone, layout) for tensor in model.inputs]
    outputs = _walk(building, model, inputs, "")
    if any(tensor.value in building.whole for tensor in outputs):
        raise unsupported("giving whole numbers", model.name, ("outputs of float32",))
    laid = [building.laid(tensor) for tensor in outputs]
    return drop_dead(building.graph(name or model.name, laid))


def _functional(model: Any) -> Any:
    """A subclassed model by one call of it, on an input of the shape it was built with."""
    if not isinstance(model, keras.Model) or isinstance(model, keras.Sequential):
        return model
    shape = (model.get_build_config() or {}).get("input_shape") if model.built else None
    if _has_layers(model) or not isinstance(shape, list | tuple) or not is_own(model):
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
            f"The model '{model.name}' is a {type(model).__name__} that does not tell its layers.",
            hint="Build it with its input shape, model.build((None, 32, 32, 3)), or give a "
            "functional model.",
        )
    check_model(model, model.name)


def _has_layers(model: Any) -> bool:
    if isinstance(model, keras.Sequential):
        return bool(model.built and model.inputs)
    return hasattr(model, "operations") and bool(getattr(model, "inputs", None))


def _layout(model: Any) -> Layout:
    """That of the model's pictures: as its layers say, if they agree, else as Keras is set."""
    formats = set(_data_formats(model))
    chosen: Layout = formats.pop() if len(formats) == 1 else keras.config.image_data_format()
    return chosen


def _data_formats(model: Any) -> Iterator[Layout]:
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from _data_formats(layer)
        elif getattr(layer, "data_format", None):
            yield layer.data_format


def _input(building: Building, tensor: Any, alone: bool, layout: Layout) -> Tensor:
    """Called `input` where it is the only one: Keras numbers its names anew in each process."""
    name = "input" if alone else str(origin(tensor).operation.name)
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
        return building.add_input(name, shape, dtype="int32")
    held = building.add_input(name, shape, layout if len(shape) == 3 else "")
    if layout == "channels_first" or len(shape) != 3:
        return held
    # Turned at once, so that whatever comes first works on channels, rows, columns.
    return Tensor(building.laid(held, _images.LAST), _images.LAST)


def _walk(building: Building, model: Any, inputs: Sequence[Tensor], path: str) -> list[Tensor]:
    known = {id(tensor): held for tensor, held in zip(model.inputs, inputs, strict=True)}
    for node in in_order(model.outputs, model.inputs):
        if node.is_input:
            raise unsupported("reading a tensor of another call", f"{path}…", ("its inputs",))
        given = [known[id(tensor)] for tensor in node.input_tensors]
        made = _layer(building, node.operation, node, given, path)
        check_masks(node, f"{path}{node.operation.name}")
        known |= {id(t): held for t, held in zip(node.output_tensors, made, strict=True)}
    return [known[id(tensor)] for tensor in model.outputs]


def _layer(
    building: Building,
    layer: Any,
    node: Any,
    given: list[Tensor],
    path: str,
) -> list[Tensor]:
    name = f"{path}{layer.name}"
    if isinstance(layer, keras.Model) and _has_layers(layer):
        check_call(layer, node, name)
        _check_inner(layer, node, name)
        return _walk(building, layer, given, f"{name}/")
    try:
        if not isinstance(layer, keras.layers.Layer):
            # without the number that Keras gives it, which is another in each trace
            called = re.sub(r"_\d+$", "", name) if path else name
            return _operation(building, layer, node, given, called)
        if type(layer) not in HANDLERS and is_own(layer):
            return _own(building, layer, node, given, name)
        return [_by_handler(building, layer, node, given, name)]
    except ShapeError as error:
        raise UsageError(
            f"The layer '{name}' cannot be captured: {error}.",
            hint="Does the model compute an output in Keras?",
        ) from error


def _by_handler(
    building: Building,
    layer: Any,
    node: Any,
    given: list[Tensor],
    name: str,
) -> Tensor:
    """By the very class: one made from a known one may compute something else."""
    handler = HANDLERS.get(type(layer))
    if handler is None:
        raise unsupported(f"a {type(layer).__name__}", name, names())
    check_call(layer, node, name)
    check_layer(layer, name)
    taken = KEYWORDS.get(type(layer), set()) & set(node.arguments.kwargs)
    more = {key: node.arguments.kwargs[key] for key in taken}
    made = handler(building, layer, given, name, **more)
    check_settings(layer, name)  # last: one that is known but not supported is told better
    return made


def _own(
    building: Building,
    layer: Any,
    node: Any,
    given: list[Tensor],
    name: str,
) -> list[Tensor]:
    """A layer of one's own, by the operations of its call."""
    shapes = [building.shape(tensor) for tensor in given]
    with opened(layer, node, shapes, name) as trace:
        made = _walk(building, trace, given, f"{name}/")
    found = [building.shape(tensor) for tensor in made]
    told = [tuple(tensor.shape[1:]) for tensor in node.output_tensors]
    if found != told:
        raise unsupported(f"giving {found} where Keras was told {told}", name, ("one shape",))
    return made


def _operation(
    building: Building,
    operation: Any,
    node: Any,
    given: list[Tensor],
    name: str,
) -> list[Tensor]:
    """With all that its call was given: tensors, and numbers beside them."""
    found = _operators.operator(operation)
    if found is None:
        what = f"a {type(operation).__name__} of keras.ops"
        raise unsupported(what, name, tuple(sorted(_operators.OPERATORS)))
    whole = type(operation).__name__ in _operators.WHOLE
    check_results(node, name, ("float32", "int32", "int64") if whole else ("float32",))
    held = {id(tensor): one for tensor, one in zip(node.input_tensors, given, strict=True)}
    made = found(building, operation, _operators.arguments(operation, node, held, name), name)
    for tensor, one in zip(node.output_tensors, made, strict=True):
        building.whole |= set() if tensor.dtype == "float32" else {one.value}
    return made


def _check_inner(model: Any, node: Any, name: str) -> None:
    """Keras gives a model inside another an axis that it lacks; here it has to fit as it is."""
    check_model(model, name)
    wanted = [tuple(tensor.shape[1:]) for tensor in model.inputs]
    received = [tuple(tensor.shape[1:]) for tensor in node.input_tensors]
    if received != wanted:
        raise unsupported(f"a model of inputs {wanted} given {received}", name, ("its own",))

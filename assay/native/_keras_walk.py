"""A Keras model's layers in the order they are computed, each given to what captures its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from assay.errors import UsageError
from assay.native import _keras_images, _keras_layers
from assay.native._keras_layers import Handler
from assay.native.building import Building, Tensor
from assay.native.capture import unsupported
from assay.native.graph import Graph
from assay.native.shapes import ShapeError

HANDLERS: dict[type, Handler] = {**_keras_images.HANDLERS, **_keras_layers.HANDLERS}


def names() -> tuple[str, ...]:
    return tuple(sorted(kind.__name__ for kind in HANDLERS))


def captured(model: Any, name: str) -> Graph:  # noqa: ANN401 (a keras.Model)
    _check(model)
    building = Building()
    alone = len(model.inputs) == 1
    inputs = [_input(building, tensor, alone) for tensor in model.inputs]
    outputs = _walk(building, model, inputs, "")
    return building.graph(name or model.name, [building.laid(tensor) for tensor in outputs])


def _check(model: Any) -> None:  # noqa: ANN401
    if not isinstance(model, keras.Model):
        raise UsageError(
            f"This is a {type(model).__name__}, but a keras.Model can be captured.",
            hint="Give a sequential or functional model.",
        )
    if not _has_layers(model):
        raise UsageError(
            f"The model '{model.name}' is a {type(model).__name__} that does not tell its layers.",
            hint="Give a functional model, or a sequential one that knows its input shape.",
        )


def _has_layers(model: Any) -> bool:  # noqa: ANN401
    if isinstance(model, keras.Sequential):
        return bool(model.built and model.inputs)
    return hasattr(model, "operations") and bool(getattr(model, "inputs", None))


def _input(building: Building, tensor: Any, alone: bool) -> Tensor:  # noqa: ANN401 (a KerasTensor)
    """Called `input` where it is the only one: Keras numbers its names anew in each process."""
    name = "input" if alone else str(_origin(tensor)[0].name)
    shape = tuple(tensor.shape[1:])
    if None in shape:
        raise UsageError(
            f"The input '{name}' is of shape {shape}, but every size has to be known.",
            hint="Build the model with a fixed input shape; only the batch is free.",
        )
    return building.add_input(name, shape)


def _walk(building: Building, model: Any, inputs: Sequence[Tensor], path: str) -> list[Tensor]:  # noqa: ANN401
    """Layers before those that read them; without recursion, for models of any depth."""
    known = {id(tensor): held for tensor, held in zip(model.inputs, inputs, strict=True)}
    waiting = list(reversed(model.outputs))
    while waiting:
        layer, node = _origin(waiting[-1])
        missing = [tensor for tensor in node.input_tensors if id(tensor) not in known]
        if id(waiting[-1]) in known:
            waiting.pop()
        elif missing:
            waiting += reversed(missing)
        else:
            given = [known[id(tensor)] for tensor in node.input_tensors]
            made = _layer(building, layer, given, path)
            known |= {id(t): held for t, held in zip(node.output_tensors, made, strict=True)}
    return [known[id(tensor)] for tensor in model.outputs]


def _origin(tensor: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """The layer that makes a tensor, and that call of it."""
    history = tensor._keras_history
    return history.operation, history.operation._inbound_nodes[history.node_index]


def _layer(building: Building, layer: Any, given: list[Tensor], path: str) -> list[Tensor]:  # noqa: ANN401
    name = f"{path}{layer.name}"
    if isinstance(layer, keras.Model) and _has_layers(layer):
        return _walk(building, layer, given, f"{name}/")
    handler = _handler(layer, len(given))
    if handler is None:
        whose = "" if isinstance(layer, keras.layers.Layer) else " of keras.ops"
        raise unsupported(f"a {type(layer).__name__}{whose}", name, names())
    try:
        return [handler(building, layer, given, name)]
    except ShapeError as error:
        raise UsageError(
            f"The layer '{name}' cannot be captured: {error}.",
            hint="Does the model compute an output in Keras?",
        ) from error


def _handler(layer: Any, inputs: int) -> Handler | None:  # noqa: ANN401 (a layer or an operation)
    """By the very class: one made from a known one may compute something else.

    `a + b` of two tensors is an operation of keras.ops, which has the name of the layer for it.
    """
    if type(layer).__module__ == "keras.src.ops.numpy" and inputs == 2:
        return _keras_layers.OPERATORS.get(type(layer).__name__)
    return HANDLERS.get(type(layer))

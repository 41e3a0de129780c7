"""Capture a custom layer by tracing its call with symbolic tensors, as Keras does.

A trace holds the operations of one call. Side effects are not in it and are refused: a changed
variable (random numbers change their generator's), a mask, and constants that differ in the next
call, such as those of a counter or of numpy's random generator.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import msgspec

from assay.core.errors import UsageError
from assay.native.capture import unsupported
from assay.native.capture._nodes import is_equal_trace
from assay.native.capture._supported import check_custom
from assay.native.graph import Shape


class TracedCall(msgspec.Struct, frozen=True):
    """What `_walk` reads of a model."""

    inputs: list[Any]  # one for each input tensor of the node
    outputs: list[Any]


def is_custom(layer: Any) -> bool:
    """Whether it is a custom layer; Keras' own are captured by class or not at all."""
    return not type(layer).__module__.startswith("keras.")


@contextmanager
def trace_layer(layer: Any, node: Any, shapes: Sequence[Shape], name: str) -> Iterator[TracedCall]:
    """Trace one call of the layer, for inputs of these shapes."""
    check_custom(layer, node, name)
    with _restore_nodes(layer):
        trace = _trace_call(layer, node, shapes, name)
        yield trace
        again = _trace_call(layer, node, shapes, name)
        if not is_equal_trace((trace.inputs, trace.outputs), (again.inputs, again.outputs)):
            what = f"a {type(layer).__name__} that computes something else each time it is called"
            raise unsupported(what, name, ("a call that depends on its inputs alone",))


def _trace_call(layer: Any, node: Any, shapes: Sequence[Shape], name: str) -> TracedCall:
    inputs = [
        keras.Input(batch_shape=(tensor.shape[0], *shape), dtype=tensor.dtype)
        for tensor, shape in zip(node.input_tensors, shapes, strict=True)
    ]
    fresh = {id(tensor): x for tensor, x in zip(node.input_tensors, inputs, strict=True)}
    args, kwargs = node.arguments.fill_in(fresh)
    if "training" in inspect.signature(layer.call).parameters:
        kwargs = {**kwargs, "training": False}
    with as_symbolic(layer, name), _UpdateRecorder() as scope:
        result = layer.call(*args, **kwargs)
    if scope.changed:
        what = f"a {type(layer).__name__} that changes {', '.join(scope.changed)} in inference"
        raise unsupported(what, name, ("a call that depends on its inputs alone",))
    outputs = keras.tree.flatten(result)
    if not all(isinstance(output, keras.KerasTensor) for output in outputs):
        what = f"a {type(layer).__name__} giving what does not depend on its inputs"
        raise unsupported(what, name, ("tensors computed from its inputs",))
    return TracedCall([fresh[id(tensor)] for tensor in node.input_tensors], outputs)


class _UpdateRecorder(keras.StatelessScope):  # type: ignore[misc]
    """Variables keep their values; records which ones a call would change."""

    def __init__(self) -> None:
        super().__init__()
        self.changed: list[str] = []

    def add_update(self, update: tuple[Any, Any]) -> None:
        super().add_update(update)
        self.changed.append(f"the variable '{update[0].name}'")


@contextmanager
def as_symbolic(layer: Any, name: str) -> Iterator[None]:
    """Report errors that user code raises for symbolic tensors."""
    try:
        yield
    except Exception as error:
        message = next(iter(str(error).strip().splitlines()), "")
        start = message if len(message) <= 160 else f"{message[:157]}…"
        raise UsageError(
            f"The layer '{name}' is a {type(layer).__name__} whose call does not take symbolic "
            f"tensors ({type(error).__name__}: {start}), so it cannot be captured.",
            hint="Write the call in keras.ops, without functions of torch, jax or numpy and "
            "without branches on values. A variable comes second (x * self.weight); -1 stands for "
            "the batch.",
        ) from error


@contextmanager
def _restore_nodes(layer: Any) -> Iterator[None]:
    """Remove the calls of the trace from the layer: a layer of several calls has no `output`, and
    each call holds its tensors."""
    node_lists = [nodes for inner in layer._flatten_layers() for nodes in _node_lists(inner)]
    sizes = [len(nodes) for nodes in node_lists]
    try:
        yield
    finally:
        for nodes, size in zip(node_lists, sizes, strict=True):
            del nodes[size:]


def _node_lists(layer: Any) -> tuple[list[Any], list[Any]]:
    return layer._inbound_nodes, layer._outbound_nodes

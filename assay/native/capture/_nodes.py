"""Nodes of Keras' tensors in topological order; comparison of traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np


def origin(tensor: Any) -> Any:
    """The node that computes the tensor: one call of a layer or an operation."""
    history = tensor._keras_history
    return history.operation._inbound_nodes[history.node_index]


def topological_order(outputs: Sequence[Any], inputs: Sequence[Any]) -> Iterator[Any]:
    """Nodes in topological order; without recursion, for models of any depth."""
    known = {id(tensor) for tensor in inputs}
    waiting = list(reversed(outputs))
    while waiting:
        node = origin(waiting[-1])
        missing = [tensor for tensor in node.input_tensors if id(tensor) not in known]
        if id(waiting[-1]) in known:
            waiting.pop()
        elif missing:
            waiting += reversed(missing)
        else:
            yield node
            known |= {id(tensor) for tensor in node.output_tensors}


def is_equal_trace(first: tuple[Sequence[Any], Sequence[Any]], second: tuple[Any, Any]) -> bool:
    """Whether two traces, each of inputs and outputs, have equal calls and constants."""
    first_items, second_items = (list(_trace_items(*trace)) for trace in (first, second))
    return len(first_items) == len(second_items) and all(map(_equal, first_items, second_items))


def _trace_items(inputs: Sequence[Any], outputs: Sequence[Any]) -> Iterator[Any]:
    """Everything that determines the result, in order; a tensor is identified by its index."""
    numbers = {id(tensor): index for index, tensor in enumerate(inputs)}
    for node in topological_order(outputs, inputs):
        operation = node.operation
        if isinstance(operation, keras.layers.Layer):
            yield operation
        else:
            yield type(operation)
            settings = {key: value for key, value in vars(operation).items() if key[0] != "_"}
            yield from keras.tree.flatten({**settings, "name": ""})  # names have a new number
        for argument in keras.tree.flatten((node.arguments.args, node.arguments.kwargs)):
            yield numbers[id(argument)] if isinstance(argument, keras.KerasTensor) else argument
        for tensor in node.output_tensors:
            numbers[id(tensor)] = len(numbers)
    yield [numbers[id(tensor)] for tensor in outputs]


def _equal(first: Any, second: Any) -> bool:
    if first is second:
        return True
    if type(first) is not type(second) or isinstance(first, keras.Variable):
        return False
    if isinstance(first, np.ndarray) or keras.ops.is_tensor(first):
        return np.array_equal(*map(keras.ops.convert_to_numpy, (first, second)))
    return bool(first == second)

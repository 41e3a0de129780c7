"""The calls that made tensors of Keras, in the order they are computed; which traces are alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np


def origin(tensor: Any) -> Any:
    """The node that makes it: one call of a layer or an operation."""
    history = tensor._keras_history
    return history.operation._inbound_nodes[history.node_index]


def in_order(outputs: Sequence[Any], inputs: Sequence[Any]) -> Iterator[Any]:
    """Nodes before those that read them; without recursion, for models of any depth."""
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


def alike(first: tuple[Sequence[Any], Sequence[Any]], second: tuple[Any, Any]) -> bool:
    """Whether two traces, each of inputs and outputs, hold the same calls of the same numbers."""
    one, other = (list(_told(*trace)) for trace in (first, second))
    return len(one) == len(other) and all(map(_equal, one, other))


def _told(inputs: Sequence[Any], outputs: Sequence[Any]) -> Iterator[Any]:
    """All that decides what is computed, one after the other; a tensor is told by its number."""
    numbers = {id(tensor): at for at, tensor in enumerate(inputs)}
    for node in in_order(outputs, inputs):
        operation = node.operation
        if isinstance(operation, keras.layers.Layer):
            yield operation
        else:
            yield type(operation)
            own = {key: held for key, held in vars(operation).items() if key[0] != "_"}
            yield from keras.tree.flatten({**own, "name": ""})  # which is numbered anew
        for each in keras.tree.flatten((node.arguments.args, node.arguments.kwargs)):
            yield numbers[id(each)] if isinstance(each, keras.KerasTensor) else each
        for tensor in node.output_tensors:
            numbers[id(tensor)] = len(numbers)
    yield [numbers[id(tensor)] for tensor in outputs]


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other) or isinstance(one, keras.Variable):
        return False
    if isinstance(one, np.ndarray) or keras.ops.is_tensor(one):
        first, second = (np.asarray(keras.ops.convert_to_numpy(each)) for each in (one, other))
        return np.array_equal(first, second)
    return bool(one == other)

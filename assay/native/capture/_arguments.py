"""Arguments of calls of keras.ops: tensors of the model, and constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from assay.native.capture import unsupported
from assay.native.graph import Array
from assay.native.graph_builder import GraphBuilder, Tensor

MAX_EXACT_INTEGER = 2**24  # up to here float32 holds every integer
Arg = Tensor | Any  # a tensor of the model, or a constant
# Adds an operation with the arguments of its call and returns its outputs.
Operator = Callable[[GraphBuilder, Any, list[Arg], str], list[Tensor]]


def numbers(value: Any) -> Array:
    array = value.value if isinstance(value, keras.Variable) else value
    return np.asarray(keras.ops.convert_to_numpy(array), np.float32)


def item_constant(value: Any, rank: int, name: str) -> Array:
    """A constant of at most `rank` axes; a batch axis of size 1 is removed."""
    array = numbers(value)
    if array.ndim == rank + 1 and len(array) == 1:
        array = array[0]
    if array.ndim > rank:
        raise unsupported(f"combined with numbers of {array.shape}", name, ("those of an item",))
    return array

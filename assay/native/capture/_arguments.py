"""What a call of keras.ops is given: tensors of the model, and known numbers beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from assay.native.capture import unsupported
from assay.native.graph import Array
from assay.native.graph_builder import Building, Tensor

LARGEST = 2**24  # up to here every whole number is a float32
Given = Tensor | Any  # a tensor of the model, or what the call was given instead
# Adds an operation with the arguments of its call and gives its outputs.
Operator = Callable[[Building, Any, list[Given], str], list[Tensor]]


def numbers(given: Any) -> Array:
    held = given.value if isinstance(given, keras.Variable) else given
    return np.asarray(keras.ops.convert_to_numpy(held), np.float32)


def of_an_item(given: Any, rank: int, name: str) -> Array:
    """As many axes as an item has; one for the batch is of size 1."""
    found = numbers(given)
    if found.ndim == rank + 1 and len(found) == 1:
        found = found[0]
    if found.ndim > rank:
        raise unsupported(f"combined with numbers of {found.shape}", name, ("those of an item",))
    return found

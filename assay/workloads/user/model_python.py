"""A plain function, called with its example."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.workloads.user.model import Bare

EXAMPLES = ()
LIKE = "(1, 2)"


def guessed(made: Any, size: int) -> Any:
    return None  # a function's arguments can be anything


def model(bare: Bare, inputs: Any) -> Callable[[], Any]:
    function = bare.made
    if isinstance(inputs, Mapping):
        return lambda: function(**inputs)
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return lambda: function(*given)

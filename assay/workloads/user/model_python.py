"""A plain function, called with its example."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.workloads.user.model import Bare

EXAMPLES = ()
LIKE = "(1, 2)"


def infer_inputs(function: Any, size: int) -> Any:
    return None  # arguments can be anything


def model(bare: Bare, inputs: Any) -> Callable[[], Any]:
    function = bare.model
    if isinstance(inputs, Mapping):
        return lambda: function(**inputs)
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return lambda: function(*arguments)

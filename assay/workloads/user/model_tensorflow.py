"""A bare tf.Module, or a function of tensors, for the tensorflow backend."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from assay.core.errors import UsageError
from assay.workloads.user.model import Bare

EXAMPLES = ()
LIKE = "tf.zeros((2, 32, 32, 3))"


def infer_inputs(module: Any, size: int) -> Any:
    return None  # a tf.Module does not state its inputs


def model(bare: Bare, inputs: Any) -> Any:
    if isinstance(bare.model, tf.Module) or bare.itself:
        return _ModuleWrapper(bare.model)
    raise UsageError(
        f"{bare.maker.__name__} gave a {type(bare.model).__name__}, not a tf.Module.",
        hint="Return the module, or an assay.Job.",
    )


class _ModuleWrapper(tf.Module):  # type: ignore[misc]
    """Passes inputs as in the example, and `training` if the model takes it."""

    def __init__(self, inner: Callable[..., Any]) -> None:
        super().__init__()
        self.inner = inner
        call = inner.__call__ if isinstance(inner, tf.Module) else inner
        self._asks = "training" in inspect.signature(call).parameters

    def __call__(self, inputs: Any, training: bool = False) -> Any:
        more = {"training": training} if self._asks else {}
        if isinstance(inputs, Mapping):
            return self.inner(**inputs, **more)
        return self.inner(*(inputs if isinstance(inputs, tuple) else (inputs,)), **more)

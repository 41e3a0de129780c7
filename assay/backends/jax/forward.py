"""The forward pass for outputs and facts of a case: traced once, compiled with few optimizations.

It runs once or twice: compiled like a step, it would take nearly as long as the first step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax

# Disables autotuning on a GPU, and most of LLVM's passes on a CPU.
_FAST_OPTIONS: dict[str, dict[str, Any]] = {
    "cpu": {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True},
    "gpu": {"xla_gpu_autotune_level": 0},
}


class TracedForward:
    """A function of the state and the inputs, which `arguments` returns at each call."""

    def __init__(self, function: Callable[..., Any], arguments: Callable[[], Any]) -> None:
        # a separate function, otherwise a first inference would already be compiled
        self._jitted = jax.jit(lambda *values: function(*values))
        self._arguments = arguments

    def __call__(self) -> Any:
        return self._executable(*self._arguments())

    @property
    def jaxpr(self) -> Any:
        return self._trace.jaxpr

    @cached_property
    def _trace(self) -> Any:
        return self._jitted.trace(*self._arguments())

    @cached_property
    def _executable(self) -> Any:
        lowered = self._trace.lower()
        try:
            return lowered.compile(compiler_options=_FAST_OPTIONS.get(jax.default_backend()))
        except RuntimeError as error:  # this XLA does not know an option
            if "ompile option" not in str(error):
                raise
            return lowered.compile()

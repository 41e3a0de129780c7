"""The forward pass that shows what a case computes: traced once, and compiled in a hurry.

It runs once or twice, a step thousands of times: compiled as a step is, it would cost the opening
of a case nearly as much again as its first step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax

# What XLA leaves out: tuning by trial on a GPU, most of LLVM's passes on a CPU.
_HURRIED: dict[str, dict[str, Any]] = {
    "cpu": {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True},
    "gpu": {"xla_gpu_autotune_level": 0},
}


class ShownForward:
    """A function of the state and the inputs, which are asked for anew at each call."""

    def __init__(self, function: Callable[..., Any], arguments: Callable[[], Any]) -> None:
        # a function of its own: else a first inference would find itself compiled already
        self._jitted = jax.jit(lambda *given: function(*given))
        self._arguments = arguments

    def __call__(self) -> Any:
        return self._compiled(*self._arguments())

    @property
    def jaxpr(self) -> Any:
        return self._traced.jaxpr

    @cached_property
    def _traced(self) -> Any:
        return self._jitted.trace(*self._arguments())

    @cached_property
    def _compiled(self) -> Any:
        lowered = self._traced.lower()
        try:
            return lowered.compile(compiler_options=_HURRIED.get(jax.default_backend()))
        except RuntimeError as error:  # of an XLA that does not know one of them
            if "ompile option" not in str(error):
                raise
            return lowered.compile()

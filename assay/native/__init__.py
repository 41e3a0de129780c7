"""From a Keras model to a graph, and from a graph to a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.native.compiled import compile_model

__all__ = ["compile_model"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 (a public name, loaded when first used)
    if name != "compile_model":
        raise AttributeError(f"module 'assay.native' has no attribute '{name}'")
    from assay.native.compiled import compile_model

    return compile_model

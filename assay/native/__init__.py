"""Models as graphs, and graphs as programs."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:  # noqa: ANN401 (loaded when it is used)
    if name == "translate_to_approxhpvm":
        return import_module("assay.native.hpvm.frontend").translate_to_approxhpvm
    raise AttributeError(f"module 'assay.native' has no attribute '{name}'")

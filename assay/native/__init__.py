"""Models as graphs, and graphs as programs."""

from __future__ import annotations


def __getattr__(name: str) -> object:
    if name == "translate_to_approxhpvm":  # loaded when it is used
        from assay.native.hpvm.frontend import translate_to_approxhpvm

        return translate_to_approxhpvm
    raise AttributeError(f"module 'assay.native' has no attribute '{name}'")

"""HPVM's command line, and the names that the package assay-hpvm imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.compat.hpvm.frontend import compile_binaries as compiled
    from assay.compat.hpvm.scripts import COMPILING, read_words, write_accuracy

__all__ = ["COMPILING", "compiled", "read_words", "write_accuracy"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import on first use: the help of `assay hpvm` needs no compiler."""
        if name not in __all__:
            raise AttributeError(f"module 'assay.compat.hpvm' has no attribute '{name}'")
        from assay.compat.hpvm import frontend, scripts

        return frontend.compile_binaries if name == "compiled" else getattr(scripts, name)

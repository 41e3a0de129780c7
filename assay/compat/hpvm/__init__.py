"""HPVM's command line, and what the package assay-hpvm imports from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.compat.hpvm.frontend import compiled
    from assay.compat.hpvm.scripts import COMPILING, read_words, write_accuracy

__all__ = ["COMPILING", "compiled", "read_words", "write_accuracy"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Loaded when first used: the help of `assay hpvm` needs no compiler."""
        if name not in __all__:
            raise AttributeError(f"module 'assay.compat.hpvm' has no attribute '{name}'")
        from assay.compat.hpvm import frontend, scripts

        return getattr(frontend if name == "compiled" else scripts, name)

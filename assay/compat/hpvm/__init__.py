"""HPVM's command line. What the package assay-hpvm imports is given here, wherever it lies."""

from __future__ import annotations

from assay.compat.hpvm.frontend import compiled
from assay.compat.hpvm.scripts import COMPILING, read_words, write_accuracy

__all__ = ["COMPILING", "compiled", "read_words", "write_accuracy"]

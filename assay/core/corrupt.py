"""Errors for truncated or corrupt data files."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import AssayError, NotPossibleError

# Exceptions of zipfile, zlib, numpy, h5py and Pillow for damaged data.
DAMAGED_HINT = (
    *(EOFError, OSError, ValueError, KeyError, SyntaxError, zlib.error),
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, TypeError, MemoryError),
    *(ArithmeticError, AttributeError),
)
REPLACE = "Delete it and get it again (assay data fetch), or point ASSAY_DATA at a complete copy."


def damage_error(path: Path, problem: str, expected: str, hint: str = REPLACE) -> AssayError:
    return AssayError(f"{path} is cut or wrong: {problem}, but {expected}.", hint=hint)


@contextmanager
def explain_write_errors(path: Path) -> Iterator[None]:
    """Convert an OSError to a NotPossibleError."""
    try:
        yield
    except OSError as error:
        raise NotPossibleError(
            f"{path} cannot be written ({error.strerror or error}).",
            hint="Free some space, or choose another folder with --home or ASSAY_HOME.",
        ) from None


@contextmanager
def explain_read_errors(path: Path, expected: str) -> Iterator[None]:
    """Convert errors of reading a damaged file."""
    try:
        yield
    except FileNotFoundError:
        raise damage_error(path, "it is missing", expected) from None
    except PermissionError as error:
        raise NotPossibleError(
            f"{path} cannot be read ({error.strerror}).", hint="Get read permission for it."
        ) from None
    except DAMAGED_HINT as error:
        raise damage_error(path, f"reading it failed ({error})", expected) from None

"""A data file that is cut or wrong, said in words: which, what was found, what to do."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import AssayError, NotPossibleError

# What zipfile, zlib, numpy, h5py and Pillow raise over damaged bytes.
BROKEN = (
    *(EOFError, OSError, ValueError, KeyError, SyntaxError, zlib.error),
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, TypeError, MemoryError),
    *(ArithmeticError, AttributeError),
)
REPLACE = "Delete it and get it again (assay data fetch), or point ASSAY_DATA at a whole copy."


def damaged(path: Path, found: str, expected: str, hint: str = REPLACE) -> AssayError:
    return AssayError(f"{path} is cut or wrong: {found}, but {expected}.", hint=hint)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the disk while something is written."""
    try:
        yield
    except OSError as error:
        raise NotPossibleError(
            f"{path} cannot be written ({error.strerror or error}).",
            hint="Make room there, or choose another place with --home or ASSAY_HOME.",
        ) from None


@contextmanager
def intact(path: Path, expected: str) -> Iterator[None]:
    """Errors that a broken file causes while it is read become one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise damaged(path, "it is missing", expected) from None
    except PermissionError as error:
        raise NotPossibleError(
            f"{path} cannot be read ({error.strerror}).", hint="Give yourself the right to read it."
        ) from None
    except BROKEN as error:
        raise damaged(path, f"reading it failed ({error})", expected) from None

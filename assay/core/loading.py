"""Detect runs started while a worker imports the user's file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assay.core.errors import UsageError

_files: list[str] = []


@contextmanager
def load_user_file(file: str) -> Iterator[None]:
    _files.append(file)
    try:
        yield
    finally:
        _files.pop()


def check_not_loading() -> None:
    """Raise if a worker is importing a file: its run would import the file again, endlessly."""
    if _files:
        raise UsageError(
            f"{_files[-1]} starts a run while a worker imports it; "
            'put that under: if __name__ == "__main__":',
        )

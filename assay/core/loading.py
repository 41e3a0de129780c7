"""Which of a user's files this process is loading; what the file begins then is a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assay.core.errors import UsageError

_files: list[str] = []


@contextmanager
def loading(file: str) -> Iterator[None]:
    _files.append(file)
    try:
        yield
    finally:
        _files.pop()


def check_not_loading() -> None:
    """A run begun by a file that a worker loads would load it again, and so on without end."""
    if _files:
        raise UsageError(
            f"{_files[-1]} begins a run while a worker loads it; "
            'put that under: if __name__ == "__main__":',
        )

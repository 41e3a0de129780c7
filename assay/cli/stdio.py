"""Make stdout/stderr writes never raise."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

# Replacements for characters of tables and bars that an encoding does not have.
_ASCII_FALLBACKS = {
    "─": "-",
    "–": "-",
    "…": "...",
    "█": "#",
    "░": ".",
    "±": "+-",
    "×": "x",
    "→": "->",
}


class Problem:
    """Why standard output could not be written; "": no error, or its reader closed it."""

    text = ""


@contextmanager
def safe_stdio() -> Iterator[Problem]:
    """Wrap both streams while a command runs. A closed pipe is not a problem."""
    for number in (0, 1, 2):
        _occupy_descriptor(number)
    before, problem = (sys.stdout, sys.stderr), Problem()
    ours = [
        _wrap_stream(stream, number, problem if number == 1 else Problem())
        for stream, number, real in (
            (sys.stdout, 1, sys.__stdout__),
            (sys.stderr, 2, sys.__stderr__),
        )
        if stream is None or stream is real
    ]
    try:
        yield problem
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before
        for stream in ours:
            stream.detach()  # the descriptor stays open: children may have it too


def _occupy_descriptor(number: int) -> None:
    """Open /dev/null for a closed descriptor, so that no file gets its number and the output."""
    try:
        os.fstat(number)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_RDWR), number)


def _wrap_stream(stream: TextIO | None, number: int, problem: Problem) -> io.TextIOWrapper:
    codecs.register_error("assay", _encode_fallback)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    wrapped = io.TextIOWrapper(
        io.BufferedWriter(_Descriptor(number, problem)),
        encoding=encoding,
        errors="assay",
        line_buffering=number == 2 or os.isatty(number),
    )
    if number == 1:
        sys.stdout = wrapped
    else:
        sys.stderr = wrapped
    return wrapped


class _Descriptor(io.FileIO):
    """Accepts all writes and records the last error."""

    def __init__(self, number: int, problem: Problem) -> None:
        super().__init__(number, "w", closefd=False)
        self._problem = problem

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            pass  # a reader such as head has closed the pipe
        except OSError as error:
            self._problem.text = error.strerror or str(error)
        return len(memoryview(data).cast("B"))  # type: ignore[arg-type]


def _encode_fallback(error: UnicodeError) -> tuple[str, int]:
    """Replacement for characters that the encoding lacks: ASCII, or a JSON escape."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(_ASCII_FALLBACKS.get(char) or _escape(char) for char in text), error.end


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs)

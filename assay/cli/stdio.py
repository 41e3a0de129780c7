"""Standard output and error that cannot break a measurement: closed, full, gone or not Unicode."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

# What tables and bars are drawn with, where the terminal knows no better.
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
    """Why standard output could not be written, in words; "": it could, or nobody reads on."""

    text = ""


@contextmanager
def safe_stdio() -> Iterator[Problem]:
    """Both streams, for as long as a command runs. A reader that has gone is no problem."""
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
    """A closed descriptor is taken, so that no file of ours gets its number and what is printed."""
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
    """Takes everything; remembers what did not arrive."""

    def __init__(self, number: int, problem: Problem) -> None:
        super().__init__(number, "w", closefd=False)
        self._problem = problem

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            pass  # the reader, say head, has seen enough
        except OSError as error:
            self._problem.text = error.strerror or str(error)
        return len(memoryview(data).cast("B"))  # type: ignore[arg-type]


def _encode_fallback(error: UnicodeError) -> tuple[str, int]:
    """Letters the encoding lacks: plainer ones, or as JSON and Python spell them."""
    assert isinstance(error, UnicodeEncodeError)
    letters = error.object[error.start : error.end]
    return "".join(_ASCII_FALLBACKS.get(letter) or _escape(letter) for letter in letters), error.end


def _escape(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs)

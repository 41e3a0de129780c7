"""Colour of verdicts, endings and notes on a terminal: green good, red bad, yellow doubtful."""

from __future__ import annotations

import os
import re
from typing import TextIO

_GREEN, _RED, _YELLOW, _END = "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[0m"
_COLORS = {
    **dict.fromkeys(("faster", "improvement", "fine", "pass", "passed"), _GREEN),
    **dict.fromkeys(("slower", "regression", "regressions", "error", "refused", "UNFAIR"), _RED),
    **dict.fromkeys(("failed", "crashed", "timeout", "out-of-memory", "wrong", "fail"), _RED),
    **dict.fromkeys(("cannot-tell", "undecided", "suspect", "suspects", "suspicion"), _YELLOW),
    **dict.fromkeys(("note", "interrupted", "skipped", "nothing to tell yet"), _YELLOW),
    "ahead so far, undecided": _YELLOW,
    "fastest:": _GREEN,
}
# A word that begins a line or a cell (after two spaces), or comes after a count or a comma, and is
# all of the cell or before punctuation: not a part of a name or of a sentence.
_WORDS = re.compile(
    rf"(?:(?<![^\n])|(?<=  )|(?<=, )|(?<=note: )|(?<=\d ))"
    rf"({'|'.join(sorted(_COLORS, key=len, reverse=True))})"
    r"(?=  |[:,;]|\n|$|(?<=:)| found| confirmed| in )"
)


def color_verdicts(text: str) -> str:
    """The text with the colour of every verdict in it."""
    return _WORDS.sub(lambda match: f"{_COLORS[match[1]]}{match[1]}{_END}", text)


def has_color(stream: TextIO) -> bool:
    """Whether colours are wanted: on a terminal, unless NO_COLOR is set or it has none."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

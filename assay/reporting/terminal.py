"""The gate to the terminal: what comes from outside may be read there, never obeyed.

Names, labels, ids, error messages and log lines are anyone's. A control character in one could
retitle or clear the screen, hide a line or show it backwards; it is written out instead. JSON and
files keep what there was.
"""

from __future__ import annotations

import re

from assay.core.codec import CONTROLS

_LONG_WORD = re.compile(r"\S{241,}")


def plain(text: str) -> str:
    r"""The text with every control character written out, as `\x1b`."""
    return CONTROLS.sub(_written_out, text)


def short(text: str) -> str:
    """The text with the middle of endless words left out: an error may quote what it was given."""
    return _LONG_WORD.sub(lambda f: f"{f[0][:100]}…({len(f[0]):,} letters)…{f[0][-20:]}", text)


def _written_out(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"

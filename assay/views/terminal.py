"""The gate to the terminal: what comes from outside may be read there, never obeyed.

Names, labels, ids, error messages and log lines are anyone's. A control character in one could
retitle or clear the screen, hide a line or show it backwards; it is written out instead. JSON and
files keep what there was.
"""

from __future__ import annotations

import re

# C0 but for tab and line feed, DEL, C1; marks that turn the direction of writing; line separators
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
    "|[\ud800-\udfff]"  # what was no text at all
)


def plain(text: str) -> str:
    r"""The text with every control character written out, as `\x1b`."""
    return _CONTROLS.sub(_written_out, text)


def plain_json(text: str) -> str:
    """The same for JSON, whose own escapes say the same to a program as the characters did."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"

"""The gate to the terminal: what comes from outside may be read there, never obeyed.

Names, labels, ids, error messages and log lines are anyone's. A control character in one could
retitle or clear the screen, hide a line or show it backwards; it is written out instead. JSON and
files keep what there was.
"""

from __future__ import annotations

import re

from assay.core.codec import CONTROLS


def plain(text: str) -> str:
    r"""The text with every control character written out, as `\x1b`."""
    return CONTROLS.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"

"""Escape control characters before printing untrusted text.

Names, labels, ids, error messages and log lines are untrusted. A control character could retitle or
clear the screen, hide a line or reverse it. JSON and files are not escaped.
"""

from __future__ import annotations

import re

from assay.core.codec import CONTROLS

_LONG_WORD = re.compile(r"\S{241,}")


def plain(text: str) -> str:
    r"""Escape every control character, as `\x1b`."""
    return CONTROLS.sub(_escape, text)


def short(text: str) -> str:
    """Cut the middle of very long words: an error may quote its input."""
    return _LONG_WORD.sub(
        lambda match: f"{match[0][:100]}…({len(match[0]):,} characters)…{match[0][-20:]}", text
    )


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"

"""What looks secret is never stored: by its name, by its place in a URL, or by its shape."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

HIDDEN = "(not stored)"

_SECRET = re.compile(
    r"key|token|secret|passw|passphrase|pwd|credential|auth|session|cookie|bearer", re.IGNORECASE
)
# `name=value`, `name: value`, with the name anywhere in the word: --tag=api_key=1, ?token=1&b=2
_PAIR = re.compile(
    rf"([\w.\-]*(?:{_SECRET.pattern})[\w.\-]*\s*[=:]\s*)(?!//)\S.*", re.IGNORECASE | re.DOTALL
)
_USERINFO = re.compile(r"(\w+://)[^/\s]*@")
# Shapes that issuers give their tokens: GitHub, GitLab, OpenAI, Hugging Face, Slack, AWS, JWT.
_SHAPES = re.compile(
    r"\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|hf_\w{16,}"
    r"|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)"
)


def safe_text(text: str) -> str:
    """The text without user names and passwords in URLs, values after secret names, tokens."""
    without = _SHAPES.sub(HIDDEN, _USERINFO.sub(r"\1", text))
    return _PAIR.sub(rf"\1{HIDDEN}", without)


def safe_value(name: str, value: str) -> str:
    """A value that has a name: hidden whole where the name looks secret."""
    return HIDDEN if _SECRET.search(name) else safe_text(value)


def safe_values(values: Mapping[str, str]) -> dict[str, str]:
    return {name: safe_value(name, value) for name, value in values.items()}


def safe_words(words: Sequence[str]) -> tuple[str, ...]:
    """A command line; what follows a flag that looks secret is hidden too."""
    safe: list[str] = []
    hide = False
    for word in words:
        safe.append(HIDDEN if hide else safe_text(word))
        hide = word.startswith("-") and "=" not in word and bool(_SECRET.search(word))
    return tuple(safe)

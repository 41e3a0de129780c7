"""Redact secrets, by name, position in a URL, or shape, before anything is stored.

Every pattern takes linear time for any text. Texts beyond MOST characters are cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

REDACTED = "(not stored)"
MAX_LENGTH = 65_536  # of a text that is stored; longer ones are cut

_SECRET = re.compile(
    r"key|token(?!i[sz])|secret|passw|passphrase|pwd|credential|auth(?!or)|session|cookie|bearer",
    re.IGNORECASE,
)
_NAME = re.compile(r"[\w.\-]+")
# Behind a name: `=` or `:` and a value. Not `://`, which begins a URL.
_VALUE = re.compile(r"\s{0,9}[=:]\s{0,9}(?!//)(?=\S)")
# Behind a flag also a space and a word, which may be quoted.
_NEXT_WORD = re.compile(r"""\s{1,9}('[^']*'|"[^"]*"|[^\s-]\S*)""")
_USERINFO = re.compile(r"(?<=://)[^/\s]*@")
_SCHEME = re.compile(r"\b(bearer\s{1,9}|basic\s{1,9}(?=[\w+/]{12}))\S+", re.IGNORECASE)
# Shapes that issuers give their tokens: GitHub, GitLab, OpenAI, Hugging Face, Slack, AWS, JWT.
_SHAPES = re.compile(
    r"(?<![\w-])(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|hf_\w{16,}"
    r"|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)"
)
# Halves of a pair, which JSON may hold and no file can; the rest of them stand for bytes.
_LONE_SURROGATE = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def safe_text(text: str) -> str:
    """The text without user names and passwords in URLs, values after secret names, tokens."""
    safe: list[str] = []
    text, end = redact_tokens(text), 0
    for name in _NAME.finditer(text):
        if name.start() < end or not _SECRET.search(name[0]):
            continue
        if value := _VALUE.match(text, name.end()):  # a value may have any number of words
            return "".join((*safe, text[end : value.end()], REDACTED))
        word = _NEXT_WORD.match(text, name.end()) if name[0].startswith("-") else None
        if word:
            safe += (text[end : word.start(1)], REDACTED)
            end = word.end()
    return "".join((*safe, text[end:]))


def redact_tokens(text: str) -> str:
    """Redact what is secret in any context: for error messages."""
    if not text.isascii():  # undecodable bytes of the environment
        text = (
            _LONE_SURROGATE.sub("\ufffd", text)
            .encode(errors="surrogateescape")
            .decode(errors="replace")
        )
    if len(text) > MAX_LENGTH:
        text = f"{text[:MAX_LENGTH]} … ({len(text) - MAX_LENGTH} characters more were cut)"
    return _SHAPES.sub(REDACTED, _SCHEME.sub(rf"\1{REDACTED}", _USERINFO.sub("", text)))


def safe_value(name: str, value: str) -> str:
    """A value that has a name: hidden whole where the name looks secret."""
    return REDACTED if _SECRET.search(name) else safe_text(value)


def safe_values(values: Mapping[str, str]) -> dict[str, str]:
    return {safe_text(name): safe_value(name, value) for name, value in values.items()}


def safe_words(words: Sequence[str]) -> tuple[str, ...]:
    """A command line; what follows a flag that looks secret is hidden too."""
    safe: list[str] = []
    hide = False
    for word in words:
        safe.append(REDACTED if hide else safe_text(word))
        hide = word.startswith("-") and "=" not in word and bool(_SECRET.search(word))
    return tuple(safe)

"""Redact secrets, by name, position or shape, before anything is stored.

Every pattern takes linear time for any text. Texts beyond MAX_LENGTH characters are cut.
The shapes of tokens are in tokens.txt.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

REDACTED = "(not stored)"
MAX_LENGTH = 65_536  # of a text that is stored; longer ones are cut

_PASSWORD = re.compile(
    r"passw|passphrase|pwd|secret|credential|(?:api|access|private)[_-]?key"
    r"|(?<![a-z])pass(?![a-z])|(?-i:(?<=[a-z])Pass(?![a-z]))|(?-i:(?<!BY)PASS(?![A-Za-z]))",
    re.IGNORECASE,
)
# Names that also have harmless values, which are numbers of few digits: `max_tokens`, `key_dim`.
_KEY = re.compile(
    r"(?<!mon)key(?!point|word|board|frame|pad)|token(?!i[sz])|auth(?!or)|session|cookie|bearer",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{1,5}(?![^\s&,:;@)}\]])")
_SIGNATURE = re.compile(r"(?:[\w-]*-)?sig(?:nature)?", re.IGNORECASE)  # in the query of a URL
_NAME = re.compile(r"[\w.\-]+")
# Behind a name, which may be quoted: `=` or `:` and a value. Not `://`, which begins a URL.
_SIGN = re.compile(r"""(?P<quote>\\?["'])?\s{0,9}(?P<sign>[=:])\s{0,9}(?!//)(?=\S)""")
_QUOTED = re.compile(r"""(?s:\\?"(?P<double>(?:[^"\\]|\\.)*)|\\?'(?P<single>(?:[^'\\]|\\.)*))""")
_WORD = re.compile(r"[^\s&]+")
# `name: value` has any number of words: until the next flag or the next `name=`.
_WORDS = re.compile(r"(?:(?!\s-|\s[\w.\-]+=).)+", re.DOTALL)
# Behind a flag also a space and a word, which may be quoted.
_NEXT_WORD = re.compile(r"""\s{1,9}(?:--\s{1,9})?('[^']*'|"[^"]*"|[^\s-]\S*)""")
_USER_FLAGS = ("-u", "-U", "--user", "--proxy-user")
# `-u name:password` as of curl; not the `-u 1000:1000` of containers, nor a URL.
_PAIR = r"""(?!\d+:\d+(?!\S))(?P<user>['"]?[^\s:'"/]{1,99}:)(?!//)(?P<password>[^\s'"]+)"""
_USER = re.compile(rf"(?<!\S)(?P<flag>-[uU]\s{{0,9}}|--(?:proxy-)?user[\s=]\s{{0,9}}){_PAIR}")
_USER_WORD = re.compile(_PAIR)
_USERINFO = re.compile(r"(?<=://)[^/\s]*@")
_SCHEME = re.compile(r"\b(bearer\s{1,9}|basic\s{1,9}(?=[\w+/]{12}))\S+", re.IGNORECASE)
# Halves of a pair, which JSON may hold and no file can; the rest of them stand for bytes.
_LONE_SURROGATE = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def safe_text(text: str) -> str:
    """The text without user names and passwords in URLs, values after secret names, tokens."""
    return _redact(text, ":=")


def safe_message(text: str) -> str:
    """As `safe_text` for an error, where `KeyError: name` is no secret."""
    return _redact(text, "=")


def safe_value(name: str, value: str) -> str:
    """A value that has a name: hidden whole where the name looks secret."""
    return REDACTED if _is_secret(name, value) else safe_text(value)


def safe_values(values: Mapping[str, str]) -> dict[str, str]:
    return {safe_text(name): safe_value(name, value) for name, value in values.items()}


def safe_words(words: Sequence[str]) -> tuple[str, ...]:
    """A command line; what follows a flag that looks secret is hidden too."""
    safe: list[str] = []
    flag = ""  # the one before
    for word in words:
        if flag and word == "--":
            safe.append(word)
            continue
        if flag in _USER_FLAGS and (pair := _USER_WORD.match(word)):
            safe.append(f"{pair['user']}{REDACTED}")
        else:
            safe.append(REDACTED if flag and _is_secret(flag, word) else safe_text(word))
        flag = word if word.startswith("-") and "=" not in word else ""
    return tuple(safe)


def _redact(text: str, unquoted: str) -> str:
    """`unquoted` are the signs that may follow a name without quotes."""
    text = _redact_shapes(_shorten(text))
    safe: list[str] = []
    end = 0
    for name in _NAME.finditer(text):
        if name.start() < end:
            continue
        if span := _secret_span(text, name, unquoted):
            safe += (text[end : span[0]], REDACTED)
            end = span[1]
    return "".join((*safe, text[end:]))


def _shorten(text: str) -> str:
    if not text.isascii():  # undecodable bytes of the environment
        text = (
            _LONE_SURROGATE.sub("\ufffd", text)
            .encode(errors="surrogateescape")
            .decode(errors="replace")
        )
    if len(text) > MAX_LENGTH:
        text = f"{text[:MAX_LENGTH]} … ({len(text) - MAX_LENGTH} characters more were cut)"
    return text


def _redact_shapes(text: str) -> str:
    text = _SCHEME.sub(rf"\1{REDACTED}", _USERINFO.sub("", text))
    text = _USER.sub(rf"\g<flag>\g<user>{REDACTED}", text)
    return _tokens().sub(REDACTED, text)


def _secret_span(text: str, name: re.Match[str], unquoted: str) -> tuple[int, int] | None:
    """Where the value behind a name is, if it is secret."""
    query = text[name.start() - 1 : name.start()] in ("?", "&")
    signature = query and _SIGNATURE.fullmatch(name[0])
    if not signature and not _is_secret(name[0], ""):
        return None
    start, end = _value_span(text, name, unquoted)
    secret = end > start and (signature or _is_secret(name[0], text[start:end]))
    return (start, end) if secret else None


def _value_span(text: str, name: re.Match[str], unquoted: str) -> tuple[int, int]:
    sign = _SIGN.match(text, name.end())
    if sign and (sign["quote"] or sign["sign"] in unquoted):
        if value := _QUOTED.match(text, sign.end()):
            return value.span("single" if value["double"] is None else "double")
        words = _WORD if sign["quote"] or sign["sign"] == "=" else _WORDS
        value = words.match(text, sign.end())
        return value.span() if value else (0, 0)
    word = _NEXT_WORD.match(text, name.end()) if name[0].startswith("-") else None
    return word.span(1) if word else (0, 0)


def _is_secret(name: str, value: str) -> bool:
    if _PASSWORD.search(name):
        return True
    return bool(_KEY.search(name)) and not _NUMBER.match(value)


@functools.cache
def _tokens() -> re.Pattern[str]:
    """One pattern of all shapes, which begin where no word goes on."""
    text = Path(__file__).with_name("tokens.txt").read_text("utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return re.compile(r"(?<![\w-])(?:" + "|".join(line.split(None, 1)[1] for line in lines) + ")")

"""Grammar of numbers in logs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

# Sign, thousands separators, fraction, exponent, nan and inf. Possessive only where the rest of a
# pattern never needs it: `(\d+),(\d+)` still reads `12,345` as two columns.
NUMBER = (
    r"[-+]?(?:\d++(?:,\d{3}(?!\d))*(?:\.\d++)?|\.\d++)(?:[eE][-+]?\d++)?"
    r"|[-+]?(?i:nan|inf(?:inity)?)(?!\w)"
)


def fraction(digits: int = 1) -> str:
    """NUMBER with a fraction of at least so many digits, or an exponent: no integer."""
    return (
        r"[-+]?(?:\d++(?:,\d{3}(?!\d))*\.\d{" + str(digits) + r",}+(?:[eE][-+]?\d++)?"
        r"|\d++[eE][-+]?\d++)|[-+]?(?i:nan|inf(?:inity)?)(?!\w)"
    )


# In free text a hyphen after a word or a number is no sign: `epoch-3` holds 3.
_TOKEN = re.compile(
    r"(?:(?<![\w.)])[-+])?(?:\d++(?:,\d{3}(?!\d))*(?:\.\d*)?|\.\d++)(?:[eE][-+]?\d++)?"
    r"|(?<!\w)[-+]?(?i:nan|inf(?:inity)?)(?!\w)",
    re.ASCII,
)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?![\d,])", re.ASCII)
_LIST = msgspec.json.Decoder(list[float])

_TIMES = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3,
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
    "min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0,
}  # fmt: skip
_SIZES = {
    "B": 1.0, "bytes": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
}  # fmt: skip
_COUNTS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

# A number with a known unit; in `step=5 k=3` the k is no unit.
_UNITS = "|".join(sorted(_TIMES | _SIZES | _COUNTS, key=len, reverse=True))
QUANTITY = rf"(?:{NUMBER})(?:[ \t]?(?:%|(?:{_UNITS})(?:/[a-zA-Z]+)?(?![\w=:])))?"


def numbers(texts: Sequence[str], unit: str = "") -> tuple[list[float], list[str]]:
    """Texts as numbers, and texts with no number or several."""
    try:  # one call for all is five times faster
        decoded = _LIST.decode(f"[{','.join(texts)}]")
    except msgspec.DecodeError:
        decoded = []
    if len(decoded) == len(texts):  # false if a text has commas: 1,234
        return decoded, []
    parsed: list[float] = []
    bad: list[str] = []
    for text in texts:
        value = number(text, unit)
        if value is None:
            bad.append(text)
        else:
            parsed.append(value)
    return parsed, bad


def number(text: str, unit: str = "") -> float | None:
    """The only number in a text, or None; its unit is converted to `unit`."""
    try:
        return float(text)
    except ValueError:
        pass
    tokens = list(_TOKEN.finditer(text))
    if len(tokens) != 1:
        return None
    return _plain(tokens[0][0]) * scale(text[tokens[0].end() :].strip(), unit)


def scale(unit: str, target: str) -> float:
    """Factor from one unit to another; 1 if they are unrelated.

    Without a target the result is in seconds, bytes or plain counts. Text after a slash (`ms/step`)
    is ignored.
    """
    unit, target = unit.partition("/")[0], target.partition("/")[0]
    if target in _SIZES and unit in _COUNTS:
        unit = f"{unit.upper()}iB"  # 1234M of memory means MiB
    for family in (_TIMES, _SIZES):
        if unit in family and (target in family or not target):
            return family[unit] / family.get(target, 1.0)
    if unit in _COUNTS and target not in _TIMES:
        return _COUNTS[unit] / _COUNTS.get(target, 1.0)
    return 1.0


def _plain(token: str) -> float:
    if "," in token and not _THOUSANDS.match(token):
        token = token.partition(",")[0]  # 1234,567: the comma separates two numbers
    return float(token.replace(",", ""))

"""Text with human units to SI numbers, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from assay.core.errors import UsageError, nearest_name

LARGE_RISE, LARGE_FALL = 2.0, 0.1  # ratios from here on are shown as factors, not per cent

Choice = TypeVar("Choice", bound=str)

_DURATIONS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SECONDS = (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_BYTES = (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))
_COUNTS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))


def seconds(text: str) -> float:
    """`10s`, `500ms`, `2m`, `1h30m` or a bare number of seconds."""
    total, rest = 0.0, text.strip()
    try:
        return _finite(float(rest))
    except ValueError:
        pass
    while rest:
        number = rest[: len(rest) - len(rest.lstrip("0123456789.e"))]
        characters = rest[len(number) :]
        unit = characters[: len(characters) - len(characters.lstrip("nuµmsh"))]
        if unit not in _DURATIONS:
            raise _duration_error(text)
        try:
            total += float(number) * _DURATIONS[unit]
        except ValueError:
            raise _duration_error(text) from None
        rest = characters[len(unit) :]
    if not text.strip():
        raise _duration_error(text)
    return total


def share(text: str) -> float:
    """`1%` or `0.01`."""
    stripped = text.strip()
    try:
        number = _finite(float(stripped.removesuffix("%")))
    except ValueError:
        raise UsageError(f"'{text}' is not a share.", hint="Write 1% or 0.01.") from None
    return number / 100 if stripped.endswith("%") else number


def as_seconds(value: float | str, name: str, usual: str) -> float:
    """A positive budget or limit from a number of seconds or a text.

    `usual` is the default, for the error.
    """
    value = without_numpy(value)
    number = (
        seconds(value) if isinstance(value, str) else _number(value, name, "Write 10 or '10s'.")
    )
    if not 0 < number < math.inf:
        raise UsageError(
            f"{name} is {number:g}, but has to be more than 0 s.", hint=f"{usual} is the default."
        )
    return number


def as_share(value: float | str, name: str, usual: str) -> float:
    """A target or smallest effect between 0 and 1."""
    value = without_numpy(value)
    number = share(value) if isinstance(value, str) else _number(value, name, "Write 0.01 or '1%'.")
    if not 0 < number < 1:
        raise UsageError(
            f"{name} is {number:g}, but has to be between 0 and 1.", hint=f"{usual} is the default."
        )
    return number


def as_choice(value: str, name: str, choices: Sequence[Choice]) -> Choice:
    """One of the choices."""
    text = str(value)
    if text in choices:
        return choices[choices.index(text)]
    near = nearest_name(text, choices)
    raise UsageError(
        f"{name} is {text!r}, but has to be one of: {', '.join(choices)}.",
        hint=f"Did you mean '{near}'?" if near else "",
    )


def as_integer(
    value: int, name: str, low: float | None = None, high: float | None = None, hint: str = ""
) -> int:
    """An integer that is not out of its range."""
    number = without_numpy(value)
    if isinstance(number, bool) or not isinstance(number, int):
        raise UsageError(f"{name} is {number!r}, which is no integer.", hint=hint)
    _check_range(number, name, low, high, hint)
    return number


def as_number(
    value: float, name: str, low: float | None = None, high: float | None = None, hint: str = ""
) -> float:
    """A number that is not out of its range."""
    number = _number(without_numpy(value), name, hint)
    _check_range(number, name, low, high, hint)
    return number


def without_numpy(value: Any) -> Any:
    """The Python value of a scalar of numpy or a framework, which cannot be stored."""
    return value.item() if getattr(value, "shape", None) == () else value


def human(value: float, unit: str, digits: int = 3) -> str:
    """Format with a unit prefix: 0.00341 s is `3.41 ms`."""
    if not math.isfinite(value):
        return str(value)
    if unit == "s":
        return _with_prefix(value, _SECONDS, digits)
    if unit == "B":
        return _with_prefix(value, _BYTES, digits)
    if unit == "%":
        return f"{value:.{digits}g} %"
    if unit.endswith("/s") or unit in {"", "FLOP", "J", "W"}:
        return f"{_with_prefix(value, _COUNTS, digits)}{unit}".strip()
    return f"{plain(value, digits)} {unit}".strip()


def plain(value: float, digits: int = 3) -> str:
    """Significant digits without an exponent: 1234.5 is `1234`, 0.01234 is `0.0123`."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    rounded = float(f"{value:.{digits - 1}e}")  # first: 0.9996 is 1.00, not 1.000
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{value:.{places}f}"


def _with_prefix(value: float, scale: tuple[tuple[str, float], ...], digits: int) -> str:
    zero = next(step for step in scale if step[1] == 1.0)
    smallest = scale[-1] if value else zero
    name, factor = next(
        (s for s in scale if abs(float(f"{value / s[1]:.{digits - 1}e}")) >= 1), smallest
    )
    return f"{plain(value / factor, digits)} {name}"


def _number(value: object, name: str, hint: str) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise UsageError(f"{name} is {value!r}, which is no number and no text.", hint=hint)
    return float(value)


def _check_range(
    number: float, name: str, low: float | None, high: float | None, hint: str
) -> None:
    if low is not None and not number >= low:
        raise UsageError(f"{name} is {str(number)[:40]}, but has to be {low} or more.", hint=hint)
    if high is not None and not number <= high:
        raise UsageError(f"{name} is {str(number)[:40]}, but has to be {high} or less.", hint=hint)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _duration_error(text: str) -> UsageError:
    return UsageError(f"'{text}' is not a duration.", hint="Write 500ms, 10s, 2m or 1h30m.")


def percent_change(ratio: float, digits: int = 2) -> str:
    """`−4.80 %` for a ratio of 0.952; `16.8 times` or `1/16.8` where per cent are hard to read."""
    if _is_large(ratio):
        return f"{_factor(ratio)} times" if ratio > 1 else f"1/{_factor(1 / ratio)}"
    return f"{100 * (ratio - 1):+.{digits}f} %".replace("-", "−")


def difference(ratio: float, digits: int = 2) -> str:
    """A change without its direction: `4.80 %` or `16.8 times`."""
    if _is_large(ratio):
        return f"{_factor(max(ratio, 1 / ratio))} times"
    return f"{100 * abs(ratio - 1):.{digits}f} %"


def span(low: float, high: float, form: Callable[[float], str]) -> str:
    """`LOW – HIGH`; "" where there is no interval."""
    return f"{form(low)} – {form(high)}" if low == low and high == high else ""


def plural(count: float, noun: str, several: str = "") -> str:
    """`1 point`, `2 points`, `0.5 points`."""
    number = f"{count:g}" if isinstance(count, float) else str(count)
    return f"{number} {noun if count == 1 else several or noun + 's'}"


def _is_large(ratio: float) -> bool:
    return ratio >= LARGE_RISE or 0 < ratio <= LARGE_FALL


def _factor(ratio: float) -> str:
    """Three digits, of thousands two: 16.8 or 1,600."""
    if not 1000 <= ratio < math.inf:
        return plain(ratio)
    return f"{float(f'{ratio:.1e}'):,.0f}"

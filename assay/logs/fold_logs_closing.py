"""The mean a program prints at its end, held against the samples it printed before."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from assay.logs.numbers import number

TOLERANCE = 0.001  # share; samples are printed rounded too


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a closing mean follows from the samples, and by which rule."""

    printed: float
    mean: float  # of the samples
    rule: str  # which statistic of the samples it is; "": none of those known
    text: str  # one sentence

    @property
    def agrees(self) -> bool:
        """The plain mean of all samples, or of those that count, is what was printed."""
        return self.rule in ("mean", "mean of the samples that count")


def check_closing(printed: str, values: Sequence[float], skip: int = 0) -> Closing:
    """`printed` is the text of the closing mean: its digits say how exact it can be."""
    value = number(printed)
    if value is None or not values:
        raise ValueError("a closing mean and at least one sample are needed")
    mean = math.fsum(values) / len(values)
    room = _half_digit(printed) + TOLERANCE * abs(value)
    rule = next((name for name, one in _rules(values, skip) if abs(one - value) <= room), "")
    return Closing(printed=value, mean=mean, rule=rule, text=_sentence(value, mean, rule))


def _rules(values: Sequence[float], skip: int) -> list[tuple[str, float]]:
    count, total = len(values), math.fsum(values)
    rules = [("mean", total / count)]
    if 0 < skip < count:
        rules.append(("mean of the samples that count", math.fsum(values[skip:]) / (count - skip)))
    ordered = sorted(values)
    rules.append(("median", (ordered[(count - 1) // 2] + ordered[count // 2]) / 2))
    if min(values) > 0:
        rules.append(("harmonic mean", count / math.fsum(1 / value for value in values)))
    if count > 1:
        rules.append(("mean without the first", (total - values[0]) / (count - 1)))
        rules.append(
            ("sum of all but one over the count of all", total / count * (count - 1) / count)
        )
        rules.append(("sum over one too few", total / (count - 1)))
    return rules


def _half_digit(printed: str) -> float:
    mantissa = printed.strip().lower().partition("e")[0]
    return 0.0 if "e" in printed.lower() else 0.5 * 10.0 ** -len(mantissa.partition(".")[2])


def _sentence(value: float, mean: float, rule: str) -> str:
    if rule == "mean":
        return f"The closing mean {value:g} is the mean of the samples."
    start = f"The program's closing mean is {value:g}, but its samples have the mean {mean:g}"
    return f"{start}: what it printed is the {rule}." if rule else f"{start}."

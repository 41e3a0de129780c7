"""A result and its repetitions → reproduced, differs or undecided, as a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from assay.core.findings import Quantity
from assay.core.records import SCHEMA, Result
from assay.core.units import difference, percent_change
from assay.stats import compare_sets
from assay.stats.intervals import Array
from assay.stats.machine_speed import format_change, machine_change
from assay.stats.paired_ratio import PROCESS_NOISE
from assay.stats.student import two_sided
from assay.stats.summary import summarize

MACHINE_DOUBTS = (
    "other-load",
    "throttled",
    "steal",
    "swap",
    "quota",
)  # doubts that lie in the machine
WIDE_TOLERANCE = 0.1  # a wider "within" is printed with its reason
MIN_PROCESSES = 3  # processes, not all of which meet a bad moment
HOST = "a virtual machine does not see what else its host does"
ESTIMATOR = "the new time over the old, 99 % prediction interval"


class StoredTimes(NamedTuple):
    """Stored results of the case on this machine, by time."""

    typical: Sequence[float] = ()
    fastest: Sequence[float] = ()


class Answer(NamedTuple):
    """The verdict on a repetition."""

    answer: Literal["reproduced", "differs", "undecided"]
    sentence: str
    typical: Deviation
    fastest: Deviation | None  # of times only: the fastest steps
    advice: str = ""  # where it is undecided


def decide(old: Result, new: Sequence[Result], within: float, series: StoredTimes) -> Answer:
    """By the main metric of the case. Other programs make steps slower, never faster: on a busy or
    virtual machine only the fastest steps decide."""
    metric = compare_sets.main_metric([old])
    typical = _deviation(old, new, metric, series.typical)
    timed = any(part.metric == metric and part.unit == "s" for part in old.samples)
    fastest = _deviation(old, new, metric, series.fastest, fastest=True) if timed else None
    machine = machine_change(old, new)
    noise = _noise([old, *new])
    unseen = HOST if fastest and _virtual([old, *new]) else ""
    why = noise or (typical.differs(machine) and unseen) or _spread_text(typical)
    sure = fastest or typical
    chance = sure.value < 1 and _may_be_chance(old, metric)
    alone = typical.differs(machine) and not noise and not unseen
    if (sure.differs(machine) and not chance) or alone:
        return Answer("differs", _differs(typical, fastest, machine), typical, fastest)
    if typical.within <= within and not typical.differs(machine):
        because = _cause(typical, machine, why)
        difference = _difference_text(typical, timed)
        sentence = f"reproduced within {_percent(typical.within)} ({difference}){because}"
        return Answer("reproduced", sentence, typical, fastest)
    if fastest and fastest.within <= within and not fastest.differs(machine):
        sentence = (
            f"reproduced within {_percent(fastest.within)} in its fastest steps "
            f"({_difference_text(fastest)}){_cause(fastest, machine, '')}; "
            f"typical steps are {_difference_text(typical)}: {why}"
        )
        return Answer("reproduced", sentence, typical, fastest)
    sentence = f"undecided within {_percent(within)}: {_difference_text(typical, timed)}; {why}"
    more = 4 * max(5, len(values(new[0], metric)))
    advice = f"a quieter machine, or more processes (--processes {more})"
    return Answer("undecided", sentence, typical, fastest, advice)


def quantity(estimate: Deviation) -> Quantity:
    return Quantity(
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        unit="",
        estimator=ESTIMATOR,
        n=estimate.processes,
    )


def _deviation(
    old: Result,
    new: Sequence[Result],
    metric: str,
    series: Sequence[float],
    fastest: bool = False,
) -> Deviation:
    first, *others = (values(result, metric, fastest) for result in (old, *new))
    return deviation(first, others, series)


def _noise(results: Sequence[Result]) -> str:
    """Other load of the machine while one of them was measured: a possible cause."""
    for result in results:
        for doubt in summarize(result).doubts:
            if doubt.code in MACHINE_DOUBTS:
                return f"when {result.id} was measured, {doubt.text}"
    return ""


def _virtual(results: Sequence[Result]) -> bool:
    return any(result.environment.machine.get("virtual_machine") for result in results)


def _may_be_chance(old: Result, metric: str) -> bool:
    """Few processes on a busy machine: it may be faster now because the load is gone."""
    return len(values(old, metric)) < MIN_PROCESSES and bool(_noise([old]))


def _differs(typical: Deviation, fastest: Deviation | None, machine: float) -> str:
    if typical.differs(machine) or fastest is None:
        text = _difference_text(typical, fastest is not None)
        return f"differs by {difference(typical.value, 1)}: {text}"
    by = difference(fastest.value, 1)
    return f"differs by {by} in its fastest steps: {_difference_text(fastest)}"


def _cause(estimate: Deviation, machine: float, why: str) -> str:
    if machine and estimate.differs():
        return f": the machine itself is {format_change(machine)} than it was then"
    return f": {why}" if why and estimate.within > WIDE_TOLERANCE else ""


def _spread_text(typical: Deviation) -> str:
    if typical.spread != typical.spread:
        return "with one process per side the spread between processes is unknown; 25 % is assumed"
    return f"this machine varies by {_percent(typical.spread)} from process to process"


def _difference_text(estimate: Deviation, timed: bool = True) -> str:
    more, less = ("slower", "faster") if timed else ("higher", "lower")
    low, high = (percent_change(bound, 1) for bound in (estimate.low, estimate.high))
    word = more if estimate.value > 1 else less
    return f"{difference(estimate.value, 1)} {word}, {low} to {high}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


# A result and its repetition → how far they may lie apart, and whether that is more than noise.
#
# They were measured at two times, so three things make them differ without a reason: processes,
# hours, and the machine itself. docs/design/compare.md says how each is estimated.

LEVEL = 0.01  # of "it differs" where it does not, for one result
MIN_DIFFERENCE = 0.01  # a smaller difference is none
MIN_DEGREES = 3  # degrees of freedom; of fewer, how much processes differ is not known
SERIES = 10  # stored results of the case from which the variation over time is estimated
_NORMAL = 1.4826  # makes a median absolute deviation a standard deviation


class Deviation(NamedTuple):
    """The new time over the old, and what it may be."""

    value: float
    low: float
    high: float
    spread: float  # standard deviation of the logarithm, from process to process; nan: not known
    processes: int  # of the side with fewer

    @property
    def within(self) -> float:
        """The largest difference that it may be."""
        return max(self.high - 1, 1 - self.low)

    def differs(self, machine: float = 0.0) -> bool:
        """Whether it is more than noise, and more than the machine's own change (a logarithm)
        explains, in whatever share of it the case may follow."""
        low, high = math.log(self.low), math.log(self.high)
        nothing = min(low, low - machine) <= 0 <= max(high, high - machine)
        return not nothing and abs(self.value - 1) > MIN_DIFFERENCE


def deviation(
    old: Sequence[float], new: Sequence[Sequence[float]], series: Sequence[float] = ()
) -> Deviation:
    """From one value per process: `old`, and `new` of each repetition. `series` are stored results
    of the same case on this machine, by time."""
    first, blocks = np.log(old), [np.log(block) for block in new]
    second = np.concatenate(blocks)
    middle = float(second.mean() - first.mean())
    spread = _spread([first, *blocks])
    reach = math.hypot(_by_processes(first, second, spread), _by_blocks(blocks))
    reach = max(reach, _by_hours(series))
    return Deviation(
        math.exp(middle),
        math.exp(middle - reach),
        math.exp(min(middle + reach, 700.0)),
        spread[0],
        min(len(first), len(second)),
    )


def values(result: Result, metric: str, fastest: bool = False) -> list[float]:
    """One for each process: its median, or its fastest."""
    pick = np.min if fastest else np.median
    return [float(pick(part)) for part in compare_sets.processes(result, metric)]


def _spread(groups: Sequence[Array]) -> tuple[float, int]:
    """From process to process within a time, pooled, and its degrees of freedom."""
    degrees = sum(len(group) - 1 for group in groups)
    if not degrees:
        return math.nan, 0
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    return math.sqrt(squares / degrees), degrees


def _by_processes(first: Array, second: Array, spread: tuple[float, int]) -> float:
    """A prediction interval: both sides are draws of processes, the old one as well."""
    deviation, degrees = spread
    if degrees < MIN_DEGREES:
        return math.log1p(PROCESS_NOISE)
    error = deviation * math.sqrt(1 / len(first) + 1 / len(second))
    return two_sided(LEVEL, degrees) * error


def _by_blocks(blocks: Sequence[Array]) -> float:
    """The drift between two repetitions now may also have happened since then."""
    means = [float(block.mean()) for block in blocks]
    return max(means) - min(means)


def _by_hours(series: Sequence[float]) -> float:
    """Of two results at two times, from neighbours in the series: a shift in it moves few."""
    if len(series) < SERIES or min(series) <= 0:
        return 0.0
    steps = np.abs(np.diff(np.log(series)))
    return two_sided(LEVEL, len(steps)) * _NORMAL * float(np.median(steps))


class Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a result is reproducible, and what that needs."""

    id: str  # of the result
    repro: str  # short, to be typed by another person
    command: str  # that measures it again
    inputs: str  # SHA-256 of what was measured, and how
    answer: Literal[
        "reproduced", "differs", "undecided", "cannot", "possible"
    ]  # possible: not tried
    sentence: str
    lacking: tuple[str, ...] = ()  # what is not here, by name
    changed: tuple[str, ...] = ()  # what is not as it was
    ratio: Quantity | None = None  # of the new time to the old
    fastest: Quantity | None = None  # likewise, of the fastest steps alone
    again: str = ""  # id of the new result; of both, where it was measured twice
    files: tuple[str, ...] = ()  # that were written
    schema: int = SCHEMA
    kind: Literal["reproduction"] = "reproduction"

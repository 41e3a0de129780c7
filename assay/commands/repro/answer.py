"""A result and the times it was measured again → reproduced, differs or undecided, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from assay.commands.repro import fold_analysis_reproduced
from assay.commands.repro.fold_analysis_reproduced import Deviation
from assay.core.findings import Quantity
from assay.core.records import Result
from assay.stats import compare_sets
from assay.stats.machine_speed import machine_change, told_change
from assay.stats.summary import summarize

NOISE = ("other-load", "throttled", "steal", "swap", "quota")  # doubts that lie in the machine
WIDE = 0.1  # a wider "within" is told with its reason
FEWEST = 3  # processes, not all of which meet a bad moment
HOST = "a virtual machine does not see what else its host does"
ESTIMATOR = "the new time over the old, 99 % prediction interval"


class KeptTimes(NamedTuple):
    """Kept results of the case on this machine, in the order of time."""

    typical: Sequence[float] = ()
    fastest: Sequence[float] = ()


class Answer(NamedTuple):
    """What is said of a result that was measured again."""

    answer: Literal["reproduced", "differs", "undecided"]
    sentence: str
    typical: Deviation
    fastest: Deviation | None  # of times only: the fastest steps
    advice: str = ""  # where it is undecided


def answered(old: Result, new: Sequence[Result], within: float, series: KeptTimes) -> Answer:
    """Of the metric the case is about. Other programs make steps slower, never faster: where the
    machine was busy, or is a virtual one whose host may have been, typical steps may differ as they
    like, and the fastest tell."""
    metric = compare_sets.main_metric([old])
    typical = _deviation(old, new, metric, series.typical)
    timed = any(part.metric == metric and part.unit == "s" for part in old.samples)
    fastest = _deviation(old, new, metric, series.fastest, fastest=True) if timed else None
    machine = machine_change(old, new)
    noise = _noise([old, *new])
    unseen = HOST if fastest and _virtual([old, *new]) else ""
    why = noise or (typical.differs(machine) and unseen) or _varies(typical)
    sure = fastest or typical
    chance = sure.value < 1 and _may_be_slow_by_chance(old, metric)
    alone = typical.differs(machine) and not noise and not unseen
    if (sure.differs(machine) and not chance) or alone:
        return Answer("differs", _differs(typical, fastest, machine), typical, fastest)
    if typical.within <= within and not typical.differs(machine):
        because = _because(typical, machine, why)
        sentence = (
            f"reproduced within {_percent(typical.within)} ({_told(typical, timed)}){because}"
        )
        return Answer("reproduced", sentence, typical, fastest)
    if fastest and fastest.within <= within and not fastest.differs(machine):
        sentence = (
            f"reproduced within {_percent(fastest.within)} in its fastest steps "
            f"({_told(fastest)}){_because(fastest, machine, '')}; "
            f"typical steps are {_told(typical)}: {why}"
        )
        return Answer("reproduced", sentence, typical, fastest)
    sentence = f"undecided within {_percent(within)}: {_told(typical, timed)}; {why}"
    more = 4 * max(5, len(fold_analysis_reproduced.values(new[0], metric)))
    advice = f"a quieter machine, or more processes (--processes {more})"
    return Answer("undecided", sentence, typical, fastest, advice)


def quantity(found: Deviation) -> Quantity:
    return Quantity(
        value=found.value,
        low=found.low,
        high=found.high,
        unit="",
        estimator=ESTIMATOR,
        n=found.processes,
    )


def _deviation(
    old: Result,
    new: Sequence[Result],
    metric: str,
    series: Sequence[float],
    fastest: bool = False,
) -> Deviation:
    first, *others = (
        fold_analysis_reproduced.values(result, metric, fastest) for result in (old, *new)
    )
    return fold_analysis_reproduced.deviation(first, others, series)


def _noise(results: Sequence[Result]) -> str:
    """What else the machine did while one of them was measured: it may have made the difference."""
    for one in results:
        for doubt in summarize(one).doubts:
            if doubt.code in NOISE:
                return f"when {one.id} was measured, {doubt.text}"
    return ""


def _virtual(results: Sequence[Result]) -> bool:
    return any(one.environment.machine.get("virtual_machine") for one in results)


def _may_be_slow_by_chance(old: Result, metric: str) -> bool:
    """Few processes beside other programs: that it is faster now may be their absence."""
    return len(fold_analysis_reproduced.values(old, metric)) < FEWEST and bool(_noise([old]))


def _differs(typical: Deviation, fastest: Deviation | None, machine: float) -> str:
    if typical.differs(machine) or fastest is None:
        return (
            f"differs by {_percent(abs(typical.value - 1))}: {_told(typical, fastest is not None)}"
        )
    by = _percent(abs(fastest.value - 1))
    return f"differs by {by} in its fastest steps: {_told(fastest)}"


def _because(found: Deviation, machine: float, why: str) -> str:
    if machine and found.differs():
        return f": the machine itself is {told_change(machine)} than it was then"
    return f": {why}" if why and found.within > WIDE else ""


def _varies(typical: Deviation) -> str:
    if typical.spread != typical.spread:
        return "one process a side does not tell how much processes differ; 25 % is taken for it"
    return f"this machine varies by {_percent(typical.spread)} from process to process"


def _told(found: Deviation, timed: bool = True) -> str:
    apart = found.value - 1
    more, less = ("slower", "faster") if timed else ("higher", "lower")
    span = f"{100 * (found.low - 1):+.1f} % to {100 * (found.high - 1):+.1f} %".replace("-", "−")
    return f"{_percent(abs(apart))} {more if apart > 0 else less}, {span}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"

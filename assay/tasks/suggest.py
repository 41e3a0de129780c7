"""Metrics that a log seems to hold: lines that repeat with changing numbers, named."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from msgspec.structs import replace

from assay.findings import Table
from assay.tasks.numbers import NUMBER
from assay.tasks.reader import Outcome
from assay.tasks.stream import Lines
from assay.tasks.task import Direction, Metric

SHAPES = 2000  # kinds of lines that are told apart
REPEATS = 2  # lines of a kind before it is worth a metric
CONTEXT = 40  # characters before a number that name it
LENGTH = 2000  # characters of a line that are looked at

_NUMBER = re.compile(rf"(?<![\w.])(?:{NUMBER})(?![\d])", re.ASCII)
_WORD = re.compile(r"[A-Za-z][A-Za-z_]*(?:@\d+)?", re.ASCII)
_UNIT = re.compile(r"[ \t]?(%|(?:[a-zA-Zµ]+/[a-zA-Z]+|ms|us|µs|ns|s|secs?|seconds|[KMG]i?B)\b)")
_COUNTERS = frozenset(
    (
        *("epoch", "epochs", "step", "steps", "batch", "iter", "iteration", "iterations"),
        *("global_step", "eta", "rank", "worker", "pid", "port", "seed", "size", "line", "lineno"),
        *("num", "of", "gpu", "device", "version", "time_ms", "date"),
    )
)
_VAGUE = frozenset(("cost", "rate", "value", "mean", "average", "avg", "total", "taken"))


@dataclass(frozen=True)
class _Kind:
    """What a name or a unit says about a number."""

    words: re.Pattern[str]
    compute: str
    direction: Direction


# In this order: `images/sec` is a speed although it names a time, `val_loss_time` is a loss.
_KINDS = (
    _Kind(
        re.compile(
            r"/s(?:ec(?:ond)?)?$|speed|throughput|(?:per_sec|per_second)|\bfps\b|it_s|tflops|bandwidth"
        ),
        "average",
        "higher",
    ),
    _Kind(re.compile(r"acc|top_?[15]|bleu|f1\b|auc|\bmap\b|precision|recall"), "last", "higher"),
    _Kind(re.compile(r"loss|error|perplexity|\bppl\b|rmse|\bmae\b|\bmse\b"), "last", "lower"),
    _Kind(re.compile(r"/step$|/batch$|/iter$|latency|\bp\d\d\b"), "median", "lower"),
    _Kind(re.compile(r"time|elapsed|duration|took|cost|\bms$|\bs$|\bsec"), "total", "lower"),
    _Kind(re.compile(r"mem|[KMG]i?B$"), "max", "lower"),
)


@dataclass
class _Slot:
    """One number of one kind of line."""

    before: str
    after: str
    texts: list[str] = field(default_factory=list)
    varies: bool = False

    def add(self, text: str) -> None:
        self.varies = self.varies or (bool(self.texts) and text != self.texts[0])
        if len(self.texts) < 8:
            self.texts.append(text)


class Suggester:
    """Feed it a log's bytes; it remembers kinds of lines, never lines."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._counts: Counter[str] = Counter()
        self._slots: dict[str, list[_Slot]] = {}

    def feed(self, chunk: bytes) -> None:
        self._take(self._lines.feed(chunk))

    def finish(self) -> tuple[Metric, ...]:
        """The metrics, most telling first: speeds, then accuracies, losses, times, the rest."""
        self._take(self._lines.finish())
        found: dict[str, tuple[int, Metric]] = {}
        for shape, slots in self._slots.items():
            if self._counts[shape] < REPEATS:
                continue
            for slot in slots:
                suggested = _metric(slot)
                if suggested and suggested[1].pattern not in {m.pattern for _, m in found.values()}:
                    _add(found, suggested, slot)
        ordered = sorted(found.values(), key=lambda pair: pair[0])
        return tuple(metric for _, metric in ordered)

    def _take(self, text: str) -> None:
        for line in text.split("\n"):
            if line:
                self._learn(line[:LENGTH])

    def _learn(self, line: str) -> None:
        numbers = list(_NUMBER.finditer(line))
        if not numbers:
            return
        shape = _NUMBER.sub("#", line)
        if shape not in self._slots:
            if len(self._slots) >= SHAPES:
                return
            self._slots[shape] = [_slot(line, place, numbers) for place in range(len(numbers))]
        self._counts[shape] += 1
        for slot, found in zip(self._slots[shape], numbers, strict=True):
            slot.add(found[0])


def suggestion_table(outcome: Outcome) -> Table:
    """What each suggested metric gives for the log it was suggested from."""
    return Table(
        columns=("metric", "compute", "value", "unit", "values", "pattern"),
        rows=tuple(
            (
                found.metric.name,
                found.metric.compute,
                f"{found.value:.6g}",
                found.metric.unit,
                str(found.count),
                found.metric.pattern,
            )
            for found in outcome.metrics
        ),
        numeric=frozenset(("value", "values")),
    )


def _slot(line: str, place: int, numbers: list[re.Match[str]]) -> _Slot:
    start = numbers[place - 1].end() if place else 0
    end = numbers[place + 1].start() if place + 1 < len(numbers) else len(line)
    return _Slot(line[start : numbers[place].start()], line[numbers[place].end() : end])


def _metric(slot: _Slot) -> tuple[int, Metric] | None:
    """A metric with its place in the order, or None where the number is only a counter."""
    words = _WORD.findall(slot.before[-CONTEXT:])
    if not slot.varies or not words or words[-1].lower() in _COUNTERS:
        return None
    unit = _UNIT.match(slot.after)
    names = [word.lower() for word in words]
    kind = _kind(names[-1], unit[1] if unit else "")
    if kind < 0:
        return None
    metric = Metric(
        name=names[-1],
        pattern=_pattern(slot, unit[0] if unit else ""),
        compute=_KINDS[kind].compute,
        direction=_KINDS[kind].direction,
        unit=unit[1] if unit else "",
    )
    return kind, metric


def _kind(name: str, unit: str) -> int:
    """Which kind it is; -1: none, so most likely a counter or a setting."""
    for text in (unit, name):
        for place, kind in enumerate(_KINDS):
            if text and kind.words.search(text):
                return place
    return -1


def _pattern(slot: _Slot, unit: str) -> str:
    """The words before the number and the unit behind it; spaces may differ in width."""
    before = slot.before[-CONTEXT:]
    if len(slot.before) > CONTEXT:
        before = before[before.find(" ") + 1 :]
    first = _WORD.search(before)
    before = before[first.start() :] if first else before
    before = re.sub(r"(?:\\[ \t])+", _any_width, re.escape(before))
    return before + "{number}" + re.escape(unit).replace("\\ ", " ")


def _any_width(blank: re.Match[str]) -> str:
    return " +" if "\t" not in blank[0] else "[ \\t]+"


def _add(found: dict[str, tuple[int, Metric]], suggested: tuple[int, Metric], slot: _Slot) -> None:
    """Under its name, or with the word before it where that name is taken."""
    kind, metric = suggested
    words = [word.lower() for word in _WORD.findall(slot.before[-CONTEXT:])]
    shortest = 2 if words[-1] in _VAGUE and len(words) > 1 else 1
    for length in range(shortest, len(words) + 1):
        name = "_".join(words[-length:])
        if name not in found:
            found[name] = (kind, replace(metric, name=name))
            return

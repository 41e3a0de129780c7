"""Metrics that a log seems to hold: lines that repeat with changing numbers, named."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.findings import Table
from assay.tasks.numbers import NUMBER
from assay.tasks.reader import Outcome
from assay.tasks.stream import Lines
from assay.tasks.task import Direction, Metric

SLOTS = 2000  # contexts of numbers that are told apart
REPEATS = 2  # numbers in one context before they are worth a metric
CONTEXT = 40  # characters before a number that name it
LENGTH = 2000  # characters of a line that are looked at

_NUMBER = re.compile(rf"(?<![\w.@])(?:{NUMBER})(?!\d)", re.ASCII)
_WORD = re.compile(r"[A-Za-z][A-Za-z_/]*(?:@\d+)?", re.ASCII)
_UNIT = re.compile(
    r" ?(?:%|(?:[a-zA-Zµ]+/[a-zA-Z]+|ms|us|µs|ns|s|secs?|seconds|[KMG]i?B)\b)(?! *[:=])"
)
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
    """Numbers that stand behind the same words."""

    before: str
    unit: str  # with the blank before it
    first: str
    count: int = 0
    varies: bool = False

    def add(self, text: str) -> None:
        self.count += 1
        self.varies = self.varies or text != self.first


class Suggester:
    """Feed it a log's bytes; it remembers the words around numbers, never lines."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._slots: dict[tuple[str, str], _Slot] = {}

    def feed(self, chunk: bytes) -> None:
        self._take(self._lines.feed(chunk))

    def finish(self) -> tuple[Metric, ...]:
        """The metrics, most telling first: speeds, then accuracies, losses, times, the rest."""
        self._take(self._lines.finish())
        found: dict[str, tuple[int, Metric]] = {}
        for slot in self._slots.values():
            kind = _kind_of(slot)
            if slot.count >= REPEATS and slot.varies and kind >= 0:
                _add(found, kind, slot)
        return tuple(metric for _, metric in sorted(found.values(), key=lambda pair: pair[0]))

    def _take(self, text: str) -> None:
        for line in text.split("\n"):
            self._learn(line[:LENGTH])

    def _learn(self, line: str) -> None:
        end = 0
        for found in _NUMBER.finditer(line):
            before = _context(line[end : found.start()], behind_number=end > 0)
            end = found.end()
            unit = _UNIT.match(line, end)
            key = before, unit[0] if unit else ""
            if key not in self._slots:
                if len(self._slots) >= SLOTS:
                    continue
                self._slots[key] = _Slot(*key, first=found[0])
            self._slots[key].add(found[0])


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


def _context(before: str, behind_number: bool) -> str:
    """What names a number: the text since the one before it, without that one's unit."""
    unit = _UNIT.match(before) if behind_number else None
    before = before[unit.end() :] if unit else before
    before = before[before.rfind("{") :] if "{" in before else before  # an object begins
    if len(before) > CONTEXT:
        before = before[-CONTEXT:].partition(" ")[2] or before[-CONTEXT:]
    return re.sub(" +", " ", before.lstrip(" ])>")).lstrip(" ")


def _kind_of(slot: _Slot) -> int:
    """Which kind it is; -1: none, so most likely a counter or a setting."""
    words = _words(slot)
    if not words or words[-1] in _COUNTERS:
        return -1
    for text in (slot.unit.strip(), words[-1]):
        for place, kind in enumerate(_KINDS):
            if text and kind.words.search(text):
                return place
    return -1


def _words(slot: _Slot) -> list[str]:
    """The words before the number; where there are none, a rate is named by its unit."""
    found = _WORD.findall(slot.before) or ([slot.unit.strip()] if "/" in slot.unit else [])
    return [word.strip("/_").lower().replace("/", "_per_") for word in found]


def _add(found: dict[str, tuple[int, Metric]], kind: int, slot: _Slot) -> None:
    """Under its last word, or with those before it where that is vague or taken."""
    words = _words(slot)
    shortest = 2 if words[-1] in _VAGUE and len(words) > 1 else 1
    names = ("_".join(words[-length:]) for length in range(shortest, len(words) + 1))
    name = next((name for name in names if name not in found), "")
    if name:
        metric = Metric(
            name=name,
            pattern=_pattern(slot),
            compute=_KINDS[kind].compute,
            direction=_KINDS[kind].direction,
            unit=slot.unit.strip(),
        )
        found[name] = kind, metric


def _pattern(slot: _Slot) -> str:
    """The words before the number and the unit behind it; blanks may differ in width."""
    before = re.sub(r"\\ ", " +", re.escape(slot.before)).replace("\\\t", r"\t")
    start = r"\b" if slot.before[:1].isalnum() else ""
    return f"{start}{before}{{number}}{re.escape(slot.unit)}".replace("\\ ", " ")

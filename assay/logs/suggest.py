"""Suggest metrics of a log: lines that repeat with changing numbers."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan

from assay.core.findings import Table
from assay.logs.extract import PatternExtractor
from assay.logs.numbers import NUMBER, number
from assay.logs.patterns import compile_pattern
from assay.logs.reader import Outcome
from assay.logs.scan import Scanner
from assay.logs.stream import Lines
from assay.logs.task import Direction, Metric

SLOTS = 2000  # different contexts of numbers
REPEATS = 2  # minimum of numbers in one context
CONTEXT = 40  # characters before a number that may name it
LENGTH = 2000  # characters of a line that are used

# Not the 4 of BLEU-4, nor the start of a word: 3x3.
_NUMBER = re.compile(rf"(?<![\w.@])(?<!\w[-+])(?:{NUMBER})(?![\d_]|x\d)", re.ASCII)
_WORD = re.compile(r"(?<!\w)\d*[A-Za-z][\w/]*(?:[@-]\d+)?", re.ASCII)
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
_TIME = re.compile(r"[mnuµ]?s|secs?|seconds?|minutes?|min|hours?")
_VAGUE = frozenset(("cost", "rate", "value", "mean", "average", "avg", "total", "taken"))


@dataclass(frozen=True)
class _Meaning:
    """Properties of a metric by its name or unit."""

    words: re.Pattern[str]
    compute: str
    direction: Direction


# In this order: `images/sec` is a speed although it names a time, `val_loss_time` is a loss.
_KINDS = (
    _Meaning(
        re.compile(
            r"/s(?:ec(?:ond)?)?$|speed|throughput|(?:per_sec|per_second)|\bfps\b|it_s|tflops|bandwidth"
        ),
        "average",
        "higher",
    ),
    _Meaning(re.compile(r"acc|top_?[15]|bleu|f1\b|auc|\bmap\b|precision|recall"), "last", "higher"),
    _Meaning(re.compile(r"loss|error|perplexity|\bppl\b|rmse|\bmae\b|\bmse\b"), "last", "lower"),
    _Meaning(
        re.compile(
            r"^(?:[mnuµ]?s|secs?|seconds|min|time)/|/step$|/batch$|/iter$|latency|\bp\d\d\b"
        ),
        "median",
        "lower",
    ),
    _Meaning(re.compile(r"elapsed"), "last", "lower"),  # cumulative
    _Meaning(
        re.compile(r"^(?!.*(?:step|batch|iter)).*(?:cost|epoch\w*time|total\w*time|train\w*time)"),
        "total",
        "lower",
    ),
    # other times are probably per step or batch
    _Meaning(re.compile(r"time|duration|took|cost|\b[mnuµ]?s$|\bsec"), "median", "lower"),
    _Meaning(re.compile(r"mem|[KMG]i?B$"), "max", "lower"),
)


@dataclass
class _Slot:
    """Numbers after the same words."""

    before: str
    unit: str  # with a leading space
    first: str
    count: int = 0
    varies: bool = False
    digest: int = 0  # of the numbers in order

    def add(self, text: str) -> None:
        self.count += 1
        value = number(text)
        self.digest = zlib.crc32(struct.pack("d", nan if value is None else value), self.digest)
        self.varies = self.varies or text != self.first


@dataclass(frozen=True)
class Suggestion:
    """A metric, with number and digest of its values."""

    metric: Metric
    count: int
    digest: int


class Suggester:
    """Collects the contexts of numbers in a log."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._slots: dict[tuple[str, str], _Slot] = {}

    def feed(self, chunk: bytes) -> None:
        self._take(self._lines.feed(chunk))

    def finish(self) -> tuple[Suggestion, ...]:
        """Suggestions: speeds, accuracies, losses, times, the rest."""
        self._take(self._lines.finish())
        by_name: dict[str, tuple[int, Suggestion]] = {}
        for slot in self._slots.values():
            kind = _kind_of(slot)
            if slot.count >= REPEATS and slot.varies and kind >= 0:
                _add(by_name, kind, slot)
        return tuple(
            suggestion for _, suggestion in sorted(by_name.values(), key=lambda pair: pair[0])
        )

    def _take(self, text: str) -> None:
        for line in text.split("\n"):
            self._learn(line[:LENGTH])

    def _learn(self, line: str) -> None:
        end = 0
        for match in _NUMBER.finditer(line):
            before = _context(line[end : match.start()], behind_number=end > 0)
            end = match.end()
            unit = _UNIT.match(line, end)
            key = before, unit[0] if unit else ""
            if key not in self._slots:
                if len(self._slots) >= SLOTS:
                    continue
                self._slots[key] = _Slot(*key, first=match[0])
            self._slots[key].add(match[0])


def confirm_suggestions(
    suggestions: Sequence[Suggestion], log: Iterable[bytes]
) -> tuple[Metric, ...]:
    """Metrics whose patterns reproduce their numbers in the same log."""
    extractors = [
        PatternExtractor(compile_pattern(suggestion.metric.pattern)) for suggestion in suggestions
    ]
    scanner, lines = Scanner(extractors), Lines()
    for chunk in log:
        if text := lines.feed(chunk):
            scanner.feed(text)
    if text := lines.finish():
        scanner.feed(text)
    scanner.finish()
    return tuple(
        suggestion.metric
        for suggestion, extractor in zip(suggestions, extractors, strict=True)
        if _same(suggestion, extractor)
    )


def _same(suggestion: Suggestion, extractor: PatternExtractor) -> bool:
    values, digest = extractor.finds.values, 0
    for chunk in values.chunks():
        digest = zlib.crc32(chunk.tobytes(), digest)
    count = len(values)
    values.close()
    return (count, digest) == (suggestion.count, suggestion.digest)


def suggestion_table(outcome: Outcome) -> Table:
    """Table of the values of suggested metrics."""
    return Table(
        columns=("metric", "compute", "value", "unit", "values", "pattern"),
        rows=tuple(
            (
                entry.metric.name,
                entry.metric.compute,
                f"{entry.value:.6g}",
                entry.metric.unit,
                str(entry.count),
                entry.metric.pattern,
            )
            for entry in outcome.metrics
        ),
        numeric=frozenset(("value", "values")),
    )


def _context(before: str, behind_number: bool) -> str:
    """Context of a number: the text since the previous number and its unit."""
    unit = _UNIT.match(before) if behind_number else None
    before = before[unit.end() :] if unit else before
    before = before[before.rfind("{") :] if "{" in before else before  # an object begins
    if len(before) > CONTEXT:
        before = before[-CONTEXT:].partition(" ")[2] or before[-CONTEXT:]
    return re.sub(" +", " ", before.lstrip(" ])>")).lstrip(" ")


def _kind_of(slot: _Slot) -> int:
    """Index in _KINDS; -1: none, probably a counter or setting."""
    words = _words(slot)
    if not words or words[-1] in _COUNTERS:
        return -1
    last_words = _WORD.findall(slot.before)[-1:]
    for text in (
        *(word.lower() for word in last_words if "/" in word),
        slot.unit.strip(),
        words[-1],
    ):
        for index, kind in enumerate(_KINDS):
            if text and kind.words.search(text):
                return index
    return -1


def _words(slot: _Slot) -> list[str]:
    """Words before the number, or the unit of a rate."""
    words = _WORD.findall(slot.before) or ([slot.unit.strip()] if "/" in slot.unit else [])
    return [_plain(word.strip("/_").lower()) for word in words]


def _plain(word: str) -> str:
    """Replace slashes: by _per_ in images/sec and ms/batch, by _ in train/loss."""
    first, _, last = word.partition("/")
    between = "_per_" if _TIME.fullmatch(first) or _TIME.fullmatch(last) else "_"
    return word.replace("/", between)


def _add(by_name: dict[str, tuple[int, Suggestion]], kind: int, slot: _Slot) -> None:
    """Add a suggestion, named by its last word, or more words if that is vague or not unique."""
    words = _words(slot)
    shortest = 2 if words[-1] in _VAGUE and len(words) > 1 else 1
    names = ("_".join(words[-length:]) for length in range(shortest, len(words) + 1))
    name = next((name for name in names if name not in by_name), "")
    if name:
        metric = Metric(
            name=name,
            pattern=_pattern(slot),
            compute=_KINDS[kind].compute,
            direction=_KINDS[kind].direction,
            unit=slot.unit.strip(),
        )
        by_name[name] = kind, Suggestion(metric, slot.count, slot.digest)


def _pattern(slot: _Slot) -> str:
    """Pattern of the words before the number and the unit after it, with any number of spaces."""
    before = re.sub(r"\\ ", " +", re.escape(slot.before)).replace("\\\t", r"\t")
    start = r"(?<![\w.-])" if slot.before[:1].isalnum() else ""
    return f"{start}{before}{{number}}{re.escape(slot.unit)}".replace("\\ ", " ")

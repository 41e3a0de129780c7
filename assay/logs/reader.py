"""Read a log while it is written; one outcome per metric."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import chain
from types import TracebackType

import msgspec

from assay.core.errors import signal_name
from assay.core.records import Status
from assay.logs.compute import NotComputableError, compute
from assay.logs.extract import (
    Extractor,
    MllogExtractor,
    PatternExtractor,
    json_extractor,
    key_extractor,
)
from assay.logs.numbers import number
from assay.logs.patterns import compile_pattern
from assay.logs.scan import Scanner
from assay.logs.stream import Lines
from assay.logs.task import Metric
from assay.logs.values import Values

CHUNK = 1 << 16  # bytes per read: larger chunks are slower, as memory is allocated anew
TAIL = 1 << 14  # characters of the end, to classify the exit
MAX_RAW = 10_000  # values of a metric that are returned
MAX_CHECKED = 1_000_000  # values to check a closing mean with


class MetricOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of one metric; it has a value even if a bound makes it a failure."""

    metric: Metric
    status: Status
    reason: str = ""
    value: float = math.nan
    computed: bool = False  # whether there is a value, which may be nan
    count: int = 0  # values in the log, including skipped ones
    raw: tuple[float, ...] = ()  # values that count, if at most RAW
    closing: Closing | None = None
    notes: tuple[str, ...] = ()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a log."""

    status: Status
    reason: str
    metrics: tuple[MetricOutcome, ...]
    bytes: int


class LogReader:
    """Feed it chunks; `finish` closes it."""

    def __init__(self, metrics: Sequence[Metric], workers: int = 0) -> None:
        self._metrics = metrics
        self._workers = workers
        self._extractors = [_extractor(metric) for metric in metrics]
        self._closings = {
            metric.name: PatternExtractor(compile_pattern(metric.closing), metric.unit)
            for metric in metrics
            if metric.closing
        }
        self._scanner = Scanner([*self._extractors, *self._closings.values()])
        self._lines = Lines()
        self._tail = ""

    def __enter__(self) -> LogReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self.close()

    def feed(self, chunk: bytes) -> None:
        self._take(self._lines.feed(chunk))

    def counts(self) -> dict[str, int]:
        """Number of values of each metric so far."""
        return {
            metric.name: len(extractor.finds.values)
            for metric, extractor in zip(self._metrics, self._extractors, strict=True)
        }

    def finish(self, returncode: int | None = None) -> Outcome:
        """Outcomes of all metrics and the command; without an exit status the log is classified."""
        self._take(self._lines.finish())
        self._scanner.finish()
        status, reason = classify_exit(self._tail, returncode)
        outcomes = tuple(
            self._outcome(metric, extractor)
            for metric, extractor in zip(self._metrics, self._extractors, strict=True)
        )
        bad = [outcome for outcome in outcomes if outcome.status != "ok"]
        if status == "ok" and bad:
            status, reason = "failed", _failure_summary(bad, len(outcomes))
        self.close()
        return Outcome(status=status, reason=reason, metrics=outcomes, bytes=self._lines.bytes)

    def close(self) -> None:
        for extractor in (*self._extractors, *self._closings.values()):
            extractor.finds.values.close()

    def _take(self, text: str) -> None:
        if text:
            self._tail = (self._tail + text[-TAIL:])[-TAIL:]
            self._scanner.feed(text)

    def _outcome(self, metric: Metric, extractor: Extractor) -> MetricOutcome:
        finds = extractor.finds
        count = len(finds.values)
        bad = f"{finds.bad} of the matches have no number; the first: {finds.first_bad}"
        if not count:
            reason = bad if finds.bad else f"{_source(metric)} was not in the log"
            return MetricOutcome(metric=metric, status="failed", reason=reason)
        outcome = MetricOutcome(
            metric=metric, status="ok", count=count, notes=(bad,) if finds.bad else ()
        )
        try:
            value = compute(metric.compute, finds.values, metric.skip, self._workers)
        except NotComputableError as error:
            return msgspec.structs.replace(outcome, status="failed", reason=str(error))
        reason = _failure_reason(metric, value)
        return msgspec.structs.replace(
            outcome,
            status="failed" if reason else "ok",
            reason=reason,
            value=value,
            computed=True,
            raw=_all_values(MAX_RAW, finds.values, metric.skip),
            closing=self._closing(metric, extractor),
            notes=(*outcome.notes, *_not_finite(finds.values)),
        )

    def _closing(self, metric: Metric, extractor: Extractor) -> Closing | None:
        closing = self._closings.get(metric.name)
        if not closing or not closing.finds.last:
            return None
        values = _all_values(MAX_CHECKED, extractor.finds.values)
        if not values or not all(map(math.isfinite, values)):
            return None
        return check_closing(closing.finds.last, values, metric.skip)


def _extractor(metric: Metric) -> Extractor:
    if metric.json:
        return json_extractor(metric.json, metric.unit)
    if metric.mllog:
        return MllogExtractor(metric.mllog, metric.unit)
    if metric.key:
        return key_extractor(metric.key, metric.unit)
    return PatternExtractor(compile_pattern(metric.pattern), metric.unit)


def _source(metric: Metric) -> str:
    kind = next(kind for kind in ("pattern", "key", "json", "mllog") if getattr(metric, kind))
    return f"the {kind} '{getattr(metric, kind)}'"


def _all_values(limit: int, values: Values, skip: int = 0) -> tuple[float, ...]:
    """All values, or none if there are more than the limit."""
    many = len(values) - skip > limit
    return () if many else tuple(chain.from_iterable(values.chunks(skip)))


def _failure_reason(metric: Metric, value: float) -> str:
    """Why a computed value is a failure: not finite or out of bounds."""
    if not math.isfinite(value):
        return f"its value is {value:g}"
    if metric.min is not None and not value >= metric.min:
        return f"{value:g} is below the minimum {metric.min:g}"
    if metric.max is not None and not value <= metric.max:
        return f"{value:g} is above the maximum {metric.max:g}"
    return ""


def _not_finite(values: Values) -> tuple[str, ...]:
    if math.isfinite(compute("total", values)):
        return ()
    positions = [
        position
        for position, value in enumerate(chain.from_iterable(values.chunks()), 1)
        if not math.isfinite(value)
    ]
    if not positions:
        return ()
    return (f"{len(positions)} values are nan or infinite; the first is value {positions[0]}",)


def _failure_summary(bad: Sequence[MetricOutcome], count: int) -> str:
    first = f"{bad[0].metric.name}: {bad[0].reason}"
    return f"{len(bad)} of {count} metrics failed; {first}"


TOLERANCE = 0.001  # share; samples are printed rounded too


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """A mean printed by the program at its end, compared to the samples."""

    printed: float
    mean: float  # of the samples
    rule: str  # matching statistic of the samples; "": none
    text: str  # one sentence

    @property
    def agrees(self) -> bool:
        """The printed value is the mean of all samples, or of those that count."""
        return self.rule in ("mean", "mean of the samples that count")


def check_closing(printed: str, values: Sequence[float], skip: int = 0) -> Closing:
    """`printed`: text of the closing mean; its digits give its precision."""
    value = number(printed)
    if value is None or not values:
        raise ValueError("a closing mean and at least one sample are needed")
    mean = math.fsum(values) / len(values)
    tolerance = _half_digit(printed) + TOLERANCE * abs(value)
    rule = next(
        (name for name, candidate in _rules(values, skip) if abs(candidate - value) <= tolerance),
        "",
    )
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


LAST_LINES = 40  # lines of the end that are searched

_OUT_OF_MEMORY = re.compile(
    r"out of memory|OutOfMemory|\bOOM\b|ResourceExhausted|RESOURCE_EXHAUSTED"
    r"|\bMemoryError\b|std::bad_alloc|Cannot allocate memory|CUDNN_STATUS_ALLOC_FAILED"
    r"|CUBLAS_STATUS_ALLOC_FAILED|DefaultCPUAllocator: (?:can't|not enough)|oom[-_]kill"
)
_RAISED = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*", re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last)"


def classify_exit(tail: str, returncode: int | None = None) -> tuple[Status, str]:
    """Status and reason, from the exit status or else from the end of the log."""
    if returncode == 0:
        return "ok", ""
    lines = [line for line in tail.split("\n") if line.strip()][-LAST_LINES:]
    end = "\n".join(lines)
    memory = next((line for line in reversed(lines) if _OUT_OF_MEMORY.search(line)), "")
    if returncode is None:
        return _classify_log(lines, memory, end)
    how = _exit_text(returncode)
    if memory:
        return "out-of-memory", f"{how}: {memory.strip()[:200]}"
    last = _exception_line(end) or (lines[-1].strip() if lines else "it printed nothing")
    return ("crashed" if returncode < 0 else "failed"), f"{how}: {last[:200]}"


def _classify_log(lines: list[str], memory: str, end: str) -> tuple[Status, str]:
    raised = _exception_line(end)
    # Programs may continue after caught errors: only an error at the end counts.
    if memory and (raised or memory in lines[-3:]):
        return "out-of-memory", f"the log ends with: {memory.strip()[:200]}"
    if lines and lines[-1].strip() == "Killed":
        return "crashed", "the log ends with: Killed"
    if raised:
        return "failed", f"the log ends with: {raised[:200]}"
    return "ok", ""


def _exception_line(end: str) -> str:
    """Last line of a traceback at the end, if at most a few lines follow."""
    start = end.rfind(_TRACEBACK)
    exceptions = list(_RAISED.finditer(end, start)) if start >= 0 else []
    if not exceptions or end.count("\n", exceptions[-1].end()) > 5:
        return ""
    return exceptions[-1][0].strip()


def _exit_text(returncode: int) -> str:
    if returncode >= 0:
        return f"the command ended with exit status {returncode}"
    return f"the command was ended by {signal_name(-returncode)}"

"""Shared by readers and writers of other tools' files: names, numbers, units, extra fields."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from assay.core.errors import UsageError
from assay.core.findings import SummarizedResult
from assay.core.formats import Content
from assay.core.records import (
    REPORTED_PREFIX,
    Case,
    Environment,
    Procedure,
    Result,
    Samples,
    Status,
    Value,
)
from assay.core.redaction import safe_value

STEP, WALL = "step_time", "wall_time"
SECONDS = {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6, "ns": 1e9, "ps": 1e12}  # in one second
MAX_NAME, MAX_TEXT = 300, 2000  # characters
MAX_COUNT = 2**53  # beyond, a float does not count by one
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def make_result(
    kind: str,
    name: str,
    samples: Iterable[Samples],
    *,
    params: Mapping[str, Value] | None = None,
    key: str = "",
    facts: Mapping[str, Value] | None = None,
    started: str = "",
    environment: Environment = Environment(),  # noqa: B008 (frozen)
    peaks: Mapping[str, float] | None = None,
    status: Status = "ok",
    reason: str = "",
) -> Result:
    """A result of another tool. Its case belongs to that tool and cannot be run again."""
    parts = tuple(part for part in samples if part.values)
    if status == "ok" and not parts:
        status, reason = "failed", "the file has no value for it"
    workload = plain(name) or "unnamed"
    return Result(
        id="",
        case=Case(
            workload=workload,
            backend=kind,
            params=dict(params or {}),
            key=f"{plain(key) or workload}@{kind}",
        ),
        procedure=Procedure(),
        status=status,
        reason=plain(reason, MAX_TEXT),
        started=started,
        samples=parts,
        facts={**dict(facts or {}), **_reported_facts(parts)},
        peaks=dict(peaks or {}),
        environment=environment,
    )


def plain(text: object, limit: int = MAX_NAME) -> str:
    """External text that is safe to print: control characters are escaped."""
    spelled = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", str(text).strip())
    return spelled if len(spelled) <= limit else f"{spelled[: limit - 1]}…"


def steady_samples(
    metric: str, unit: str, values: Iterable[float], steps: int = 1, process: int = 0
) -> Samples:
    return Samples(
        metric=plain(metric),
        unit=unit,
        phase="steady",
        values=tuple(values),
        steps=steps,
        process=process,
    )


def numbers(content: Content, values: object, what: str) -> tuple[float, ...]:
    """A list of numbers; null is nan, anything else an error."""
    if not isinstance(values, list):
        raise content.wrong(f"has {plain(what)} that is no list of numbers")
    return tuple(number(content, value, what) for value in values)


def number(content: Content, value: object, what: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, str) and value.strip().lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise content.wrong(f"has {plain(what)} of {plain(value)!r}, which is no number")
    try:
        return float(value)
    except OverflowError:
        raise content.wrong(
            f"has {plain(what)} of {plain(value, 40)!r}, which is too large"
        ) from None


def count(content: Content, value: object, what: str) -> int:
    """A count: a finite number that a record can hold."""
    size = number(content, value, what)
    if not abs(size) < MAX_COUNT:
        raise content.wrong(f"has {plain(what)} of {size}, which is no count")
    return int(size)


def steps(value: object) -> int:
    """Steps per value; 1 for what is no positive count."""
    is_count = isinstance(value, int | float) and 1 <= value < MAX_COUNT
    return int(value) if isinstance(value, int | float) and is_count else 1


def text(content: Content, value: object, what: str) -> str:
    """A name or a unit; null is empty. A list or an object is an error."""
    if isinstance(value, list | dict):
        raise content.wrong(f"has {plain(what)} of {plain(value, 40)!r}, which is no text")
    return "" if value is None else plain(value)


def values(content: Content, value: object, what: str) -> list[Any]:
    """A list; null is empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise content.wrong(f"has {plain(what)} that is no list")
    return value


def table(content: Content, value: object, what: str) -> dict[str, Any]:
    """A JSON object; an absent one is empty."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise content.wrong(f"has {what} that is no JSON object")
    return value


def rows(content: Content, value: object, what: str) -> list[dict[str, Any]]:
    """A list of JSON objects that is not empty."""
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise content.wrong(f"has {what} that is no list of JSON objects")
    if not value:
        raise content.wrong(f"has no {what}", hint="There is nothing to import in it.")
    return value


def per_second(content: Content, unit: object) -> float:
    """Number of time units per second."""
    if not isinstance(unit, str) or unit not in SECONDS:
        raise content.wrong(
            f"has the time unit {plain(unit)!r}", hint=f"Known: {', '.join(SECONDS)}."
        )
    return SECONDS[unit]


def scalars(fields: Mapping[str, Any], prefix: str = "", without: Iterable[str] = ()) -> Any:
    """Extra fields as facts: lists and objects as JSON text."""
    excluded = set(without)
    facts: dict[str, Value] = {}
    for name, value in fields.items():
        if name in excluded or value is None:
            continue
        if not isinstance(value, str | int | float | bool):
            value = json.dumps(value, separators=(",", ":"))
            if len(value) > MAX_TEXT:
                continue
        if isinstance(value, str):
            value = safe_value(str(name), plain(value, MAX_TEXT))
        facts[plain(f"{prefix}{name}")] = value
    return facts


def restore_fields(facts: Mapping[str, Value], prefix: str) -> dict[str, Any]:
    """The inverse of `scalars`: facts with a prefix as fields."""
    fields: dict[str, Any] = {}
    for name, value in facts.items():
        if name.startswith(prefix):
            is_json = isinstance(value, str) and value[:1] in ("{", "[")
            fields[name.removeprefix(prefix)] = _json(str(value)) if is_json else value
    return fields


def parse_time(value: object) -> str:
    """Convert ISO text, or seconds or milliseconds since 1970, to UTC in ISO 8601; else ""."""
    try:
        if isinstance(value, int | float):
            seconds = value / 1e3 if value > 1e11 else float(value)
            time = datetime.fromtimestamp(seconds, UTC)
        else:
            time = datetime.fromisoformat(str(value))
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        return time.astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return ""


def check_version(content: Content, version: object, newest: int, what: str) -> None:
    """Raise for a newer or unknown version of a format."""
    try:
        major = int(float(str(version)))
    except (ValueError, OverflowError):
        raise content.wrong(f"has no version of {what}, but {plain(version)!r}") from None
    if major > newest:
        raise content.wrong(
            f"has version {plain(version)} of {what}, but up to {newest} is read here",
            hint="Upgrade assay, or write it with an older version of the tool.",
        )


def name_for(kind: str, result: Result) -> str:
    """Name of a case in a file of that kind; imported cases keep their names."""
    return result.case.workload if result.case.backend == kind else result.case.key


def main_parts(result: Result) -> list[Samples]:
    """Steady samples of the main metric: step time, else wall time, else the first."""
    parts = [part for part in result.samples if part.phase == "steady"]
    metrics = dict.fromkeys(part.metric for part in parts)
    chosen = next((m for m in (STEP, WALL) if m in metrics), next(iter(metrics), ""))
    return [part for part in parts if part.metric == chosen]


def finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def by_name(kind: str, readings: Iterable[SummarizedResult]) -> dict[str, list[Result]]:
    """Results with values, grouped by case; an error if there are none."""
    groups: dict[str, list[Result]] = {}
    for reading in readings:
        if any(finite(part.values) for part in main_parts(reading.result)):
            groups.setdefault(name_for(kind, reading.result), []).append(reading.result)
    if not groups:
        raise no_values_error(kind)
    return groups


def no_values_error(kind: str) -> UsageError:
    return UsageError(
        f"None of these results has a value that a file of {kind} could hold.",
        hint="assay list results shows the status of results.",
    )


def as_json(document: object) -> bytes:
    return json.dumps(document, indent=1, default=str).encode() + b"\n"


def git_of(results: Sequence[Result]) -> dict[str, Value]:
    return next((r.environment.git for r in results if r.environment.git), {})


def _reported_facts(samples: Sequence[Samples]) -> dict[str, Value]:
    """Facts that mark metrics other than times as reported by the tool."""
    return {
        f"{REPORTED_PREFIX}{part.metric}": f"{len(part.values)} imported"
        for part in samples
        if part.metric not in (STEP, WALL, "open_time")
    }


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

"""MLPerf's training log: lines of `:::MLLOG {…}`, each an event with a key, a value and a time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format, parse_json
from assay.core.records import Result, Samples
from assay.formats import common

KIND = "mllog"
MARK = ":::MLLOG"
_NAME, _START, _STOP = "submission_benchmark", "run_start", "run_stop"
_UNITS = {common.STEP: "s"}
_REPEATED = (common.STEP, "eval_accuracy", "eval_loss", "train_loss")  # repeated measurements


def matches(content: Content) -> bool:
    return MARK in content.text


def read(content: Content) -> Sequence[Result]:
    """Split events into runs, each from its name or start to its stop."""
    runs: list[list[dict[str, Any]]] = [[]]
    for event in _events(content):
        begins = event.get("key") == _NAME and any(e.get("key") == _STOP for e in runs[-1])
        if begins:
            runs.append([])
        runs[-1].append(event)
    return [_result(content, run) for run in runs if run]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    lines = [line for reading in readings for line in _lines(reading.result)]
    if not lines:
        raise common.no_values_error(KIND)
    return ("\n".join(lines) + "\n").encode()


def _events(content: Content) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(content.text.splitlines(), 1):
        _, mark, text = line.partition(MARK)
        if not mark:
            continue
        try:
            event = parse_json(text)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            raise content.wrong(f"has a damaged event in line {number}")
        yield event


def _result(content: Content, events: Sequence[dict[str, Any]]) -> Result:
    scalars = {str(e.get("key")): e.get("value") for e in events if not _is_measurement(e)}
    times = {str(e.get("key")): e.get("time_ms") for e in events}
    stops = [e for e in events if e.get("key") == _STOP]
    details = common.table(content, stops[-1].get("metadata"), "metadata") if stops else {}
    ended = str(details.get("status", "success" if stops else "never stopped"))
    return common.make_result(
        KIND,
        str(scalars.get(_NAME) or "mlperf"),
        _samples(content, events, times),
        facts=common.scalars(scalars, "mllog.", (_NAME, _START, _STOP)),
        started=common.parse_time(times.get(_START) or events[0].get("time_ms")),
        status="ok" if ended == "success" else "failed",
        reason="" if ended == "success" else f"the log says: {ended}",
    )


def _is_measurement(event: dict[str, Any]) -> bool:
    """Whether it is a measurement, not a setting: by its key, or if it has a step or epoch."""
    details = event.get("metadata")
    counted = isinstance(details, dict) and bool({"step_num", "epoch_num", "unit"} & details.keys())
    number = isinstance(event.get("value"), int | float)
    return number and (event.get("key") in _REPEATED or counted)


def _samples(
    content: Content, events: Sequence[dict[str, Any]], times: dict[str, Any]
) -> Iterator[Samples]:
    groups: dict[tuple[str, str, int], list[float]] = {}
    for event in filter(_is_measurement, events):
        details = common.table(content, event.get("metadata"), "metadata")
        process = details.get("process", 0)
        key = common.text(content, event.get("key"), "key")
        kind = (key, common.text(content, details.get("unit", _UNITS.get(key)), "unit"))
        group = (*kind, process if type(process) is int else 0)
        groups.setdefault(group, []).append(common.number(content, event["value"], kind[0]))
    for (name, unit, process), values in groups.items():
        yield common.steady_samples(name, common.plain(unit), values, process=process)
    start, ended = times.get(_START), times.get(_STOP)
    if not groups and isinstance(start, int | float) and isinstance(ended, int | float):
        yield common.steady_samples(common.WALL, "s", ((ended - start) / 1e3,))


def _lines(result: Result) -> Iterator[str]:
    start = _milliseconds(result.started)
    yield _line(start, _NAME, common.name_for(KIND, result))
    for name, value in result.case.params.items():
        yield _line(start, {"batch_size": "global_batch_size"}.get(name, name), value)
    for name, value in common.restore_fields(result.facts, "mllog.").items():
        yield _line(start, name, value)
    yield _line(start, _START, None, "INTERVAL_START")
    for part in result.samples:
        if part.phase == "steady":
            for value in part.values:
                details = {"unit": part.unit, "process": part.process, "steps": part.steps}
                yield _line(start, part.metric, value, "POINT_IN_TIME", details)
    status = {"status": "success" if result.status == "ok" else "aborted"}
    yield _line(start + _to_int(1e3 * result.seconds), _STOP, None, "INTERVAL_END", status)


def _line(
    time: int,
    key: str,
    value: object,
    kind: str = "POINT_IN_TIME",
    details: dict[str, Any] | None = None,
) -> str:
    event = {
        "namespace": "",
        "time_ms": time,
        "event_type": kind,
        "key": key,
        "value": value,
        "metadata": {"file": "assay", "lineno": 0, **(details or {})},
    }
    return f"{MARK} {json.dumps(event)}"


def _to_int(value: float) -> int:
    return round(value) if math.isfinite(value) else 0


def _milliseconds(started: str) -> int:
    return round(datetime.fromisoformat(started).timestamp() * 1e3) if started else 0


PROVIDES = {
    KIND: Format(
        summary="MLPerf: its training log, a line an event",
        suffix=".log",
        matches=matches,
        read=read,
        write=write,
    )
}

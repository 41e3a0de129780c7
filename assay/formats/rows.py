"""Results as a long table with one row per value, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.formats import Content, parse_json
from assay.core.records import Case, Environment, Result, Samples
from assay.formats import common as foreign

_CASE = ("workload", "backend", "case", "params", "options")
_PLACE = ("host", "cpu", "gpu", "python", "packages", "commit", "facts")
_RESULT = ("id", "started", *_CASE, "label", "tags", "status", "reason", *_PLACE)
TEXT = (*_RESULT, "metric", "unit", "phase")
COUNTS = ("process", "steps", "position")
COLUMNS = (*TEXT, *COUNTS, "value")
Row = dict[str, Any]


def rows(result: Result) -> Iterator[Row]:
    """Rows of a result; one row if it has no values."""
    common = _common(result)
    has_values = False
    for part in result.samples:
        kind = {"metric": part.metric, "unit": part.unit, "phase": part.phase}
        for position, value in enumerate(part.values):
            has_values = True
            counts = {"process": part.process, "steps": part.steps, "position": position}
            yield {**common, **kind, **counts, "value": value}
    if not has_values:
        blank = {"metric": "", "unit": "", "phase": "", **dict.fromkeys(COUNTS, 0)}
        yield {**common, **blank, "value": math.nan}


def results(content: Content, kind: str, records: Iterable[Mapping[str, Any]]) -> Sequence[Result]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in records:
        groups.setdefault(foreign.text(content, row["id"], "id"), []).append(row)
    if not groups:
        raise content.wrong("has no rows", hint="There is nothing to import in it.")
    return [_result(content, kind, members) for members in groups.values()]


def _common(result: Result) -> Row:
    here = result.environment
    return {
        "id": result.id,
        "started": result.started,
        "workload": result.case.workload,
        "backend": result.case.backend,
        "case": result.case.key,
        "params": _text(result.case.params),
        "options": _text(result.case.options),
        "label": result.label,
        "tags": _text(result.tags),
        "status": result.status,
        "reason": result.reason,
        "host": str(here.system.get("hostname", "")),
        "cpu": str(here.machine.get("cpu", "")),
        "gpu": str(here.machine.get("gpu0", "")),
        "python": str(here.python.get("version", "")),
        "packages": _text(here.packages),
        "commit": str(here.git.get("commit", "")),
        "facts": _text(result.facts),
    }


def _result(content: Content, kind: str, same: Sequence[Mapping[str, Any]]) -> Result:
    first = same[0]
    git = foreign.scalars({"commit": first["commit"] or None})
    known = first["status"] in ("ok", "failed", "crashed", "timeout", "out-of-memory", "skipped")
    imported = foreign.make_result(
        kind,
        foreign.text(content, first["case"], "case"),
        _samples(content, same),
        facts=foreign.scalars(_table(content, first, "facts")),
        started=foreign.parse_time(first["started"]),
        environment=Environment(
            machine=foreign.scalars({"cpu": first["cpu"] or None, "gpu0": first["gpu"] or None}),
            system=foreign.scalars({"hostname": first["host"] or None}),
            python=foreign.scalars({"version": first["python"] or None}),
            packages={
                foreign.plain(n): foreign.plain(v)
                for n, v in _table(content, first, "packages").items()
            },
            git=git,
        ),
        status=first["status"] if known else "interrupted",
        reason=foreign.plain(first["reason"]),
    )
    label = foreign.text(content, first["label"], "label")
    return msgspec.structs.replace(imported, case=_case(content, first), label=label)


def _case(content: Content, row: Mapping[str, Any]) -> Case:
    """The exported case."""
    return Case(
        workload=foreign.plain(row["workload"]) or "unnamed",
        backend=foreign.plain(row["backend"]) or "unnamed",
        params=foreign.scalars(_table(content, row, "params")),
        options=foreign.scalars(_table(content, row, "options")),
        key=foreign.plain(row["case"]),
    )


def _samples(content: Content, same: Sequence[Mapping[str, Any]]) -> Iterator[Samples]:
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in same:
        if row["metric"]:
            words = (foreign.text(content, row[n], n) for n in ("metric", "unit", "phase"))
            counts = (_count(content, row[name]) for name in ("process", "steps"))
            group = (*words, *counts)
            groups.setdefault(group, []).append(_value(content, row["value"]))
    for (metric, unit, phase, process, steps), values in groups.items():
        if phase not in ("open", "first", "warmup", "steady"):
            raise content.wrong(f"has the phase {foreign.plain(phase)!r}")
        yield Samples(
            metric=foreign.plain(metric),
            unit=foreign.plain(unit),
            phase=phase,
            values=tuple(values),
            process=process,
            steps=steps,
        )


def _value(content: Content, value: object) -> float:
    try:
        return math.nan if value in (None, "") else float(str(value))
    except ValueError:
        raise content.wrong(f"has the value {foreign.plain(value)!r}, which is no number") from None


def _count(content: Content, value: object) -> int:
    try:
        return foreign.count(content, int(str(value)), "a count")
    except ValueError:
        raise content.wrong(f"has {foreign.plain(value)!r} where a count has to be") from None


def _table(content: Content, row: Mapping[str, Any], name: str) -> dict[str, Any]:
    try:
        return foreign.table(content, parse_json(str(row[name] or "{}")), name)
    except (ValueError, RecursionError):
        raise content.wrong(f"has {name} that are no JSON") from None


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)

"""hyperfine's JSON: the wall time of every run of a command, each a process, in seconds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Result, Samples
from assay.core.redaction import safe_text
from assay.formats import common

KIND = "hyperfine"
_KNOWN_FIELDS = [
    "command",
    "mean",
    "stddev",
    "median",
    "user",
    "system",
    "min",
    "max",
    "times",
    "exit_codes",
    "parameters",
    "memory_usage_byte",
]
_ONCE = {"user": "user_time", "system": "system_time"}  # means over all runs


def matches(content: Content) -> bool:
    if not content.has("results"):
        return False
    rows = content.json["results"]
    return isinstance(rows, list) and all(isinstance(r, dict) and "command" in r for r in rows)


def read(content: Content) -> Sequence[Result]:
    rows = common.rows(content, content.json["results"], "results")
    return [_result(content, row) for row in rows]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    by_name = common.by_name(KIND, readings)
    return common.as_json({"results": [_row(name, results) for name, results in by_name.items()]})


def _result(content: Content, row: dict[str, Any]) -> Result:
    params = common.table(content, row.get("parameters"), "parameters")
    codes = common.values(content, row.get("exit_codes"), "exit_codes")
    failed_codes = [common.plain(code) for code in codes if code]
    return common.make_result(
        KIND,
        safe_text(common.text(content, row["command"], "command")),
        _samples(content, row),
        params=common.scalars(params),
        facts=common.scalars(row, "hyperfine.", _KNOWN_FIELDS),
        status="failed" if failed_codes else "ok",
        reason=f"{len(failed_codes)} of its runs ended with a status such as {failed_codes[0]}"
        if failed_codes
        else "",
    )


def _samples(content: Content, row: dict[str, Any]) -> Iterator[Samples]:
    times = row.get("times")
    if times is None:  # written by early versions, or edited
        times = [row.get("median", row.get("mean"))]
    for number, value in enumerate(common.numbers(content, times, "times")):
        yield common.steady_samples(common.WALL, "s", (value,), process=number)
    for field, metric in _ONCE.items():
        if field in row:
            yield common.steady_samples(metric, "s", (common.number(content, row[field], field),))
    memory = row.get("memory_usage_byte")
    if memory is not None:
        yield common.steady_samples(
            "memory", "B", common.numbers(content, memory, "memory_usage_byte")
        )


def _row(name: str, results: Sequence[Result]) -> dict[str, Any]:
    parts = [part for result in results for part in common.main_parts(result)]
    times = common.finite(value for part in parts for value in part.values)
    once = {field: results[0].values(metric) for field, metric in _ONCE.items()}
    memory = common.finite(value for result in results for value in result.values("memory"))
    return {
        "command": name,
        "mean": statistics.fmean(times),
        "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times),
        **{field: values[0] if values else 0.0 for field, values in once.items()},
        "min": min(times),
        "max": max(times),
        "times": times,
        **({"memory_usage_byte": [int(value) for value in memory]} if memory else {}),
        "exit_codes": [0] * len(times),
        "parameters": {name: str(value) for name, value in results[0].case.params.items()},
        **common.restore_fields(results[0].facts, "hyperfine."),
    }


PROVIDES = {
    KIND: Format(
        summary="hyperfine: the wall time of every run of a command",
        suffix=".json",
        matches=matches,
        read=read,
        write=write,
    )
}

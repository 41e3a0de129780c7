"""google-benchmark's JSON: one row per repetition, with real and CPU time, and counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Environment, Result, Samples, Value
from assay.formats import common

KIND = "google-benchmark"
NEWEST = 1
CPU = "cpu_time"
_UNITS = {"bytes_per_second": "B/s", "items_per_second": "items/s"}
_ROW = {  # fields that are no counters
    "name", "run_name", "run_type", "real_time", "cpu_time", "time_unit", "iterations",
    "threads", "family_index", "label", "per_family_instance_index", "repetitions",
    "repetition_index", "aggregate_name", "aggregate_unit", "error_occurred",
    "error_message", "skipped", "skip_message", "big_o", "rms", "cpu_coefficient",
    "real_coefficient",
}  # fmt: skip
_NANOSECONDS = common.SECONDS["ns"]


def matches(content: Content) -> bool:
    if not content.has("context", "benchmarks"):
        return False
    rows = content.json["benchmarks"]
    return isinstance(rows, list) and all(isinstance(row, dict) and "name" in row for row in rows)


def read(content: Content) -> Sequence[Result]:
    context = common.table(content, content.json["context"], "context")
    common.check_version(
        content, context.get("json_schema_version", 1), NEWEST, "google-benchmark's schema"
    )
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in common.rows(content, content.json["benchmarks"], "benchmarks"):
        name = common.text(content, row.get("run_name") or row["name"], "run_name")
        groups.setdefault(name, []).append(row)
    return [_result(content, context, name, rows) for name, rows in groups.items()]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    by_name = common.by_name(KIND, readings)
    first = next(iter(by_name.values()))[0]
    context = {
        "date": first.started,
        "host_name": str(first.environment.system.get("hostname", "")),
        "executable": "assay",
        "num_cpus": first.environment.machine.get("cpus", 0),
        "mhz_per_cpu": 0,
        "caches": [],
        "load_avg": [],
        "library_build_type": "release",
        **common.restore_fields(first.facts, "context."),
        "json_schema_version": NEWEST,
    }
    rows = [row for name, results in by_name.items() for row in _rows(name, results)]
    return common.as_json({"context": context, "benchmarks": rows})


def _result(
    content: Content, context: dict[str, Any], name: str, rows: Sequence[dict[str, Any]]
) -> Result:
    wrong = next((row for row in rows if row.get("error_occurred") or row.get("skipped")), None)
    reason = (wrong or {}).get("error_message") or (wrong or {}).get("skip_message") or ""
    skipped = wrong is not None and not wrong.get("error_occurred")
    used, note = _repetitions(rows)
    return common.make_result(
        KIND,
        name,
        () if wrong else _samples(content, used),
        params=_params(name),
        facts={
            **common.scalars(context, "context.", ("date", "host_name", "num_cpus")),
            **common.scalars({name: rows[0].get(name) for name in ("time_unit", "label")}),
            **note,
        },
        started=common.parse_time(context.get("date")),
        environment=Environment(
            machine=common.scalars({"cpus": context.get("num_cpus")}),
            system=common.scalars({"hostname": context.get("host_name")}),
        ),
        status="skipped" if skipped else "failed" if wrong else "ok",
        reason=str(reason),
    )


def _repetitions(
    rows: Sequence[dict[str, Any]],
) -> tuple[Sequence[dict[str, Any]], dict[str, Value]]:
    """Repetitions, or the median or mean of a file with aggregates only."""
    single = [row for row in rows if row.get("run_type", "iteration") == "iteration"]
    if single:
        return single, {}
    for aggregate in ("median", "mean"):
        aggregates = [row for row in rows if row.get("aggregate_name") == aggregate]
        if aggregates:
            return aggregates, {"note": f"the file has only aggregates; this is the {aggregate}"}
    return [], {}


def _samples(content: Content, rows: Sequence[dict[str, Any]]) -> Iterator[Samples]:
    """Repetitions grouped by number of iterations, in order."""
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        steps = max(1, common.count(content, row.get("iterations", 1), "iterations"))
        groups.setdefault(steps, []).append(row)
    for steps, same in groups.items():
        for metric, field in ((common.STEP, "real_time"), (CPU, CPU)):
            values = [_seconds(content, row, field) for row in same if field in row]
            yield common.steady_samples(metric, "s", values, steps=steps)
        for name in dict.fromkeys(name for row in same for name in row if name not in _ROW):
            counters = [row[name] for row in same if isinstance(row.get(name), int | float)]
            yield common.steady_samples(name, _UNITS.get(name, ""), map(float, counters))


def _seconds(content: Content, row: dict[str, Any], field: str) -> float:
    unit = common.per_second(content, row.get("time_unit", "ns"))
    return common.number(content, row[field], field) / unit


def _params(name: str) -> dict[str, Value]:
    """`matmul/n:100/real_time` has n."""
    pairs = [part.partition(":") for part in name.split("/")[1:]]
    return {common.plain(key): common.plain(value) for key, mark, value in pairs if mark}


def _rows(name: str, results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    values = [
        (value, part.steps, others)
        for result in results
        for part in common.main_parts(result)
        for value, others in zip(part.values, _parallel_metrics(result, part), strict=True)
    ]
    for index, (value, steps, others) in enumerate(values):
        yield {
            "name": name,
            "run_name": name,
            "run_type": "iteration",
            "repetitions": len(values),
            "repetition_index": index,
            "threads": 1,
            "iterations": steps,
            "real_time": value * _NANOSECONDS,
            CPU: 0.0,  # required by readers; 0: not measured
            "time_unit": "ns",
            **others,
        }


def _parallel_metrics(result: Result, main: Samples) -> list[dict[str, float]]:
    """Other metrics with equally many values, by value."""
    parts = [
        part
        for part in result.samples
        if part.phase == "steady" and part is not main and len(part.values) == len(main.values)
        if part.process == main.process and part.metric != main.metric
    ]
    return [
        {p.metric: p.values[index] * (_NANOSECONDS if p.metric == CPU else 1) for p in parts}
        for index in range(len(main.values))
    ]


PROVIDES = {
    KIND: Format(
        summary="google-benchmark: real and CPU time of every repetition, with counters",
        suffix=".json",
        matches=matches,
        read=read,
        write=write,
    )
}

"""Conbench's results (benchadapt.BenchmarkResult): raw data and unit, tags, machine and commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Environment, Result
from assay.formats import common

KIND = "conbench"
_TIME_UNITS = {"s": "s", "ns": "ns", "seconds": "s"}


def matches(content: Content) -> bool:
    documents = _all(content)
    return bool(documents) and all(_is_result(document) for document in documents)


def read(content: Content) -> Sequence[Result]:
    return [_result(content, document) for document in _all(content)]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    documents = [_document(reading.result) for reading in readings]
    if not documents:
        raise common.no_values_error(KIND)
    return common.as_json(documents)


def _all(content: Content) -> list[Any]:
    return content.json if isinstance(content.json, list) else [content.json]


def _is_result(document: object) -> bool:
    return (
        isinstance(document, dict)
        and "tags" in document
        and ("stats" in document or "error" in document)
    )


def _result(content: Content, document: dict[str, Any]) -> Result:
    tags = common.table(content, document["tags"], "tags")
    stats = common.table(content, document.get("stats"), "stats")
    machine = common.table(content, document.get("machine_info"), "machine_info")
    github = common.table(content, document.get("github"), "github")
    error = common.table(content, document.get("error"), "error")
    unit = common.text(content, stats.get("unit"), "unit")
    values = common.numbers(content, stats.get("data", []), "data")
    if unit in _TIME_UNITS:
        scale = common.SECONDS[_TIME_UNITS[unit]]
        sample = common.steady_samples(common.STEP, "s", (value / scale for value in values))
    else:
        sample = common.steady_samples("value", common.plain(unit), values)
    return common.make_result(
        KIND,
        common.text(content, tags.get("name"), "name"),
        [sample],
        params=common.scalars(tags, without=("name",)),
        facts={
            **common.scalars(common.table(content, document.get("info"), "info"), "info."),
            **common.scalars(common.table(content, document.get("context"), "context"), "con."),
        },
        started=common.parse_time(document.get("timestamp")),
        environment=Environment(
            machine=common.scalars(
                {"cpu": machine.get("cpu_model_name"), "cpus": machine.get("cpu_thread_count")}
            ),
            system=common.scalars({"hostname": machine.get("name")}),
            git=common.scalars({"commit": github.get("commit")}),
        ),
        status="failed" if error else "ok",
        reason=str(next(iter(error.values()), "")) if error else "",
    )


def _document(result: Result) -> dict[str, Any]:
    """A failed run has `error` in place of data."""
    parts = common.main_parts(result)
    values = common.finite(value for part in parts for value in part.values)
    here = result.environment
    outcome: dict[str, Any] = {"error": {"status": result.status, "reason": result.reason}}
    if values:
        unit = parts[0].unit or "i/s"
        outcome = {"stats": {"data": values, "unit": unit, "times": [], "time_unit": "s"}}
        outcome["stats"]["iterations"] = len(values)
    return {
        "run_id": result.run,
        "run_name": result.label or result.run,
        "run_tags": dict(result.tags),
        "batch_id": result.run,
        "timestamp": result.started,
        **outcome,
        "tags": {"name": common.name_for(KIND, result), **result.case.params},
        "info": dict(here.packages) | common.restore_fields(result.facts, "info."),
        "context": {"benchmark_language": "Python", **common.restore_fields(result.facts, "con.")},
        "machine_info": {
            "name": str(here.system.get("hostname", "")),
            "cpu_model_name": str(here.machine.get("cpu", "")),
            "cpu_thread_count": str(here.machine.get("cpus", "")),
            "memory_bytes": str(here.machine.get("memory", "")),
        },
        "github": {"commit": here.git["commit"]} if here.git.get("commit") else {},
    }


PROVIDES = {
    KIND: Format(
        summary="Conbench: a list of benchmark results, to post to its server",
        suffix=".json",
        matches=matches,
        read=read,
        write=write,
    )
}

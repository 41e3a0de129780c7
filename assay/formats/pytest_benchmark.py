"""pytest-benchmark's JSON: statistics of every test, and its rounds where they were saved."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Environment, Result, Value
from assay.formats import common

KIND = "pytest-benchmark"
_KNOWN_FIELDS = ("name", "fullname", "params", "extra_info", "stats")


def matches(content: Content) -> bool:
    if not content.has("machine_info", "benchmarks"):
        return False
    benchmarks = content.json["benchmarks"]
    return isinstance(benchmarks, list) and all(
        isinstance(b, dict) and "stats" in b for b in benchmarks
    )


def read(content: Content) -> Sequence[Result]:
    document = content.json
    environment = _environment(content, document)
    more = {"version": document.get("version")}
    return [
        _result(content, benchmark, environment, common.parse_time(document.get("datetime")), more)
        for benchmark in common.rows(content, document["benchmarks"], "benchmarks")
    ]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    by_name = common.by_name(KIND, readings)
    results = [result for same in by_name.values() for result in same]
    first = results[0]
    here, git = first.environment, common.git_of(results)
    return common.as_json(
        {
            "machine_info": {
                "node": here.system.get("hostname", ""),
                "machine": here.machine.get("architecture", ""),
                "python_version": here.python.get("version", ""),
                "python_implementation": "CPython",
                "python_implementation_version": here.python.get("version", ""),
                "system": here.system.get("system", "Linux"),
                "release": here.system.get("kernel", ""),
                "cpu": {
                    "brand_raw": here.machine.get("cpu", ""),
                    "count": here.machine.get("cpus", 0),
                },
            },
            "commit_info": {
                "id": git.get("commit", "unversioned"),
                "branch": git.get("branch", "(unknown)"),
                "dirty": git.get("dirty", False),
                "time": None,
                "author_time": None,
                "project": "assay",
            },
            "benchmarks": [_benchmark(name, same) for name, same in by_name.items()],
            "datetime": first.started,
            "version": str(first.facts.get("pytest-benchmark.version", "5.0.0")),
        }
    )


def _result(
    content: Content,
    benchmark: dict[str, Any],
    environment: Environment,
    started: str,
    more: dict[str, Any],
) -> Result:
    stats = common.table(content, benchmark["stats"], "stats")
    data, note = stats.get("data"), {}
    if not data:
        data = [stats.get("median", stats.get("mean"))]
        note = {"note": "the rounds were not saved (--benchmark-save-data); this is their median"}
    params = common.table(content, benchmark.get("params"), "params")
    extra = common.table(content, benchmark.get("extra_info"), "extra_info")
    values = common.numbers(content, data, "data")
    return common.make_result(
        KIND,
        common.text(content, benchmark.get("fullname") or benchmark.get("name"), "name"),
        [
            common.steady_samples(
                common.STEP, "s", values, steps=common.steps(stats.get("iterations"))
            )
        ],
        params=common.scalars(params),
        facts={
            **common.scalars(extra, "extra."),
            **common.scalars({**benchmark, **more}, "pytest-benchmark.", _KNOWN_FIELDS),
            **note,
        },
        started=started,
        environment=environment,
    )


def _environment(content: Content, document: dict[str, Any]) -> Environment:
    machine = common.table(content, document["machine_info"], "machine_info")
    commit = common.table(content, document.get("commit_info"), "commit_info")
    cpu = common.table(content, machine.get("cpu"), "cpu")
    known = commit.get("id") not in (None, "unversioned", "unknown")
    git = {"commit": commit.get("id"), "branch": commit.get("branch"), "dirty": commit.get("dirty")}
    return Environment(
        machine=common.scalars(
            {
                "cpu": cpu.get("brand_raw"),
                "cpus": cpu.get("count"),
                "architecture": machine.get("machine"),
            }
        ),
        system=common.scalars(
            {
                "hostname": machine.get("node"),
                "system": machine.get("system"),
                "kernel": machine.get("release"),
            }
        ),
        python=common.scalars({"version": machine.get("python_version")}),
        git=common.scalars(git) if known else {},
    )


def _benchmark(name: str, results: Sequence[Result]) -> dict[str, Any]:
    parts = [part for result in results for part in common.main_parts(result)]
    values = common.finite(value for part in parts for value in part.values)
    first = results[0]
    params: dict[str, Value] = first.case.params
    return {
        "group": None,
        "param": ", ".join(map(str, params.values())) or None,
        "options": {},
        **common.restore_fields(first.facts, "pytest-benchmark."),
        "name": name.rpartition("::")[2],
        "fullname": name,
        "params": params or None,
        "extra_info": common.restore_fields(first.facts, "extra."),
        "stats": {**_stats(values), "data": values, "iterations": parts[0].steps},
    }


def _stats(values: Sequence[float]) -> dict[str, Any]:
    """Statistics as in pytest-benchmark: outliers by deviation, then by IQR."""
    ordered, count = sorted(values), len(values)
    middle, mean = statistics.median(ordered), statistics.fmean(ordered)
    q1, q3 = _quarter(ordered), -_quarter([-value for value in ordered[::-1]])
    spread = statistics.stdev(ordered) if count > 1 else 0.0
    fences = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    inside = [value for value in ordered if fences[0] <= value <= fences[1]] or ordered
    far = sum(abs(value - mean) > spread for value in ordered)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": spread,
        "rounds": count,
        "median": middle,
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": count - len(inside),
        "stddev_outliers": far,
        "outliers": f"{far};{count - len(inside)}",
        "ld15iqr": inside[0],
        "hd15iqr": inside[-1],
        "ops": 1 / mean if mean else 0.0,
        "total": sum(ordered),
    }


def _quarter(ordered: Sequence[float]) -> float:
    """The first quartile: the mean of the lower half's medians, with the middle and without."""
    half = len(ordered) // 2
    halves = ordered[: len(ordered) - half], ordered[: half or 1]
    return statistics.fmean(statistics.median(part) for part in halves)


PROVIDES = {
    KIND: Format(
        summary="pytest-benchmark: the rounds of every test, with statistics",
        suffix=".json",
        matches=matches,
        read=read,
        write=write,
    )
}

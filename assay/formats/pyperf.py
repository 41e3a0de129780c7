"""pyperf's JSON: a benchmark's values run by run, each run a process, in seconds or bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Environment, Result, Samples
from assay.formats import common as foreign

KIND = "pyperf"
NEWEST = 1
_METRICS = {"second": (foreign.STEP, "s"), "byte": ("memory", "B"), "integer": ("value", "")}
_UNITS = {"s": "second", "B": "byte"}
_KNOWN_FIELDS = {"name", "unit", "hostname", "platform", "cpu_model_name", "cpu_count"}
_KNOWN_FIELDS |= {"python_version", "python_executable"}


def matches(content: Content) -> bool:
    return content.has("benchmarks", "version") and any(
        isinstance(benchmark, dict) and "runs" in benchmark for benchmark in _list(content)
    )


def read(content: Content) -> Sequence[Result]:
    document = content.json
    foreign.check_version(content, document["version"], NEWEST, "pyperf's format")
    common = foreign.table(content, document.get("metadata"), "metadata")
    return [
        _result(content, common, benchmark)
        for benchmark in foreign.rows(content, document["benchmarks"], "benchmarks")
    ]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    by_name = foreign.by_name(KIND, readings)
    benchmarks = [_benchmark(name, results) for name, results in by_name.items()]
    return foreign.as_json({"version": "1.0", "metadata": {}, "benchmarks": benchmarks})


def _list(content: Content) -> list[Any]:
    benchmarks = content.json["benchmarks"]
    return benchmarks if isinstance(benchmarks, list) else []


def _result(content: Content, common: dict[str, Any], benchmark: dict[str, Any]) -> Result:
    metadata = {**common, **foreign.table(content, benchmark.get("metadata"), "metadata")}
    runs = foreign.rows(content, benchmark.get("runs"), "runs")
    details = [foreign.table(content, run.get("metadata"), "metadata") for run in runs]
    metadata = {**metadata, **{n: v for n, v in details[0].items() if n in ("name", "unit")}}
    unit = metadata.get("unit", "second")
    if not isinstance(unit, str) or unit not in _METRICS:
        raise content.wrong(f"has the unit {foreign.plain(unit)!r} in a file of pyperf")
    memory = [float(d["mem_max_rss"]) for d in details if isinstance(d.get("mem_max_rss"), int)]
    return foreign.make_result(
        KIND,
        foreign.text(content, metadata.get("name"), "name"),
        (part for number, run in enumerate(runs) for part in _run(content, metadata, run, number)),
        facts=foreign.scalars(metadata, "pyperf.", _KNOWN_FIELDS),
        started=next((foreign.parse_time(d["date"]) for d in details if "date" in d), ""),
        environment=_environment(metadata),
        peaks={"max_rss": max(memory)} if memory else {},
    )


def _run(
    content: Content, metadata: dict[str, Any], run: dict[str, Any], number: int
) -> Iterator[Samples]:
    """Warm-ups, each with its number of loops, then values; a calibration run has none."""
    settings = {**metadata, **foreign.table(content, run.get("metadata"), "metadata")}
    inner = foreign.steps(settings.get("inner_loops"))
    metric, unit = _METRICS[metadata.get("unit", "second")]
    for pair in foreign.values(content, run.get("warmups"), "warmups"):
        if len(warmup := foreign.numbers(content, pair, "warmups")) < 2:
            raise content.wrong("has a warm-up that is no pair of loops and value")
        loops, value = warmup[:2]
        yield Samples(
            metric=metric,
            unit=unit,
            phase="warmup",
            values=(value,),
            steps=foreign.steps(loops) * inner,
            process=number,
        )
    values = foreign.numbers(content, run.get("values") or [], "values")
    yield foreign.steady_samples(
        metric, unit, values, steps=foreign.steps(settings.get("loops")) * inner, process=number
    )


def _environment(metadata: dict[str, Any]) -> Environment:
    return Environment(
        machine=foreign.scalars(
            {"cpu": metadata.get("cpu_model_name"), "cpus": metadata.get("cpu_count")}
        ),
        system=foreign.scalars({n: metadata.get(n) for n in ("hostname", "platform")}),
        python=foreign.scalars({n: metadata.get(f"python_{n}") for n in ("version", "executable")}),
    )


def _benchmark(name: str, results: Sequence[Result]) -> dict[str, Any]:
    first = results[0]
    parts = foreign.main_parts(first)
    here, metadata = first.environment, foreign.restore_fields(first.facts, "pyperf.")
    metadata |= {"name": name, "unit": _UNITS.get(parts[0].unit, "integer")}
    metadata.setdefault("loops", parts[0].steps)
    placed = {
        "hostname": here.system.get("hostname"),
        "platform": here.system.get("platform"),
        "cpu_model_name": here.machine.get("cpu"),
        "cpu_count": here.machine.get("cpus"),
        "python_version": here.python.get("version"),
        "python_executable": here.python.get("executable"),
    }
    metadata |= {field: value for field, value in placed.items() if value}
    return {"metadata": metadata, "runs": [run for result in results for run in _runs(result)]}


def _runs(result: Result) -> Iterator[dict[str, Any]]:
    metric = foreign.main_parts(result)[0].metric
    for process in sorted({part.process for part in result.samples if part.metric == metric}):
        own = [p for p in result.samples if p.metric == metric and p.process == process]
        steady = [part for part in own if part.phase == "steady"]
        values = [value for part in steady for value in foreign.finite(part.values)]
        warmups = [[p.steps, v] for p in own if p.phase == "warmup" for v in p.values]
        if values:
            moment = {"date": result.started.replace("T", " ")[:23]} if result.started else {}
            yield {
                "metadata": moment,
                "values": values,
                **({"warmups": warmups} if warmups else {}),
            }


PROVIDES = {
    KIND: Format(
        summary="pyperf: values of every process, with metadata",
        suffix=".json",
        matches=matches,
        read=read,
        write=write,
    )
}

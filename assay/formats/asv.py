"""airspeed velocity's result file of one machine and commit: one row per benchmark."""

from __future__ import annotations

import hashlib
import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from assay.core.errors import UsageError
from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Environment, Result, Samples, Value
from assay.formats import common

KIND = "asv"
NEWEST = 2
MAX_CASES = 100_000  # combinations of the parameters of a benchmark
COLUMNS = [
    "result",
    "params",
    "version",
    "started_at",
    "duration",
    "stats_ci_99_a",
    "stats_ci_99_b",
    "stats_q_25",
    "stats_q_75",
    "stats_number",
    "stats_repeat",
    "samples",
]
# Prefix of a benchmark's name → metric and unit; the file has no units.
_MEASURES = {
    "time": (common.STEP, "s"),
    "timeraw": (common.WALL, "s"),
    "peakmem": ("peak_memory", "B"),
    "mem": ("memory", "B"),
    "track": ("value", ""),
}
_Index = tuple[int, tuple[str, ...]]  # index in the product of parameters, and its values


def matches(content: Content) -> bool:
    return content.has("results", "result_columns", "commit_hash")


def read(content: Content) -> Sequence[Result]:
    document = content.json
    common.check_version(content, document.get("version"), NEWEST, "asv's result file")
    columns = document["result_columns"]
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise content.wrong("has result_columns that is no list of names")
    results = common.table(content, document["results"], "results")
    if not results:
        raise content.wrong("has no results", hint="There is nothing to import in it.")
    environment = _environment(content, document)
    return [
        result
        for name, row in results.items()
        for result in _benchmark(content, name, _fields(content, columns, row), environment)
    ]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    by_name = common.by_name(KIND, readings)
    results = [result for members in by_name.values() for result in members]
    commits = {str(r.environment.git.get("commit", "")) for r in results} - {""}
    if len(commits) != 1:
        raise UsageError(
            f"A file of asv is of one commit, but these results are of {len(commits) or 'none'}.",
            hint="Export the results of each commit by themselves, measured in a git checkout.",
        )
    here = results[0].environment
    machine = {
        "arch": str(here.machine.get("architecture", "")),
        "cpu": str(here.machine.get("cpu", "")),
        "machine": str(here.system.get("hostname", "")) or "unknown",
        "num_cpu": str(here.machine.get("cpus", "")),
        "os": str(here.system.get("platform", "")),
        "ram": str(here.machine.get("memory", "")),
    }
    python = str(here.python.get("version", ""))
    return common.as_json(
        {
            "commit_hash": commits.pop(),
            "env_name": str(results[0].facts.get("asv.env_name", f"assay-py{python}")),
            "date": _milliseconds(results[0].started),
            "params": {**machine, "python": python},
            "python": python,
            "requirements": dict(here.packages),
            "env_vars": {},
            "result_columns": COLUMNS,
            "results": {
                _name(name, members[0]): _row(members) for name, members in by_name.items()
            },
            "durations": {},
            "version": NEWEST,
        }
    )


def _fields(content: Content, columns: Sequence[str], row: object) -> dict[str, Any]:
    """Rows may be shorter than the columns."""
    if not isinstance(row, list):
        raise content.wrong("has a result that is no list")
    return dict(zip(columns, row, strict=False))


def _benchmark(
    content: Content, name: str, fields: dict[str, Any], environment: Environment
) -> Iterator[Result]:
    axes = common.values(content, fields.get("params"), "params")
    if not all(isinstance(axis, list) for axis in axes):
        raise content.wrong(f"has params of {common.plain(name)} that are no lists")
    if (cases := math.prod(map(len, axes))) > MAX_CASES:
        raise content.wrong(f"has {cases} combinations of params, more than {MAX_CASES}")
    for index, chosen in enumerate(itertools.product(*axes)):
        yield _result(content, name, fields, environment, (index, tuple(map(common.plain, chosen))))


def _result(
    content: Content,
    name: str,
    fields: dict[str, Any],
    environment: Environment,
    index: _Index,
) -> Result:
    position, chosen = index
    raw, single = _item(fields.get("samples"), position), _item(fields.get("result"), position)
    stem = name.rpartition(".")[2].partition("_")[0]
    metric, unit = _MEASURES.get(stem, _MEASURES["track"])
    failed = single is None and not raw
    values = common.numbers(content, raw if raw else [single], "samples")
    sample = Samples(
        metric=metric,
        unit=unit,
        phase="steady",
        values=() if failed else values,
        steps=common.steps(_item(fields.get("stats_number"), position)),
    )
    params: dict[str, Value] = {f"param{i + 1}": common.plain(v) for i, v in enumerate(chosen)}
    return common.make_result(
        KIND,
        name,
        [sample],
        params=params,
        key=f"{name}({', '.join(chosen)})" if chosen else "",
        facts={
            **common.scalars({"asv.version": fields.get("version")}),
            **({} if raw else {"note": "the samples were not recorded; this is asv's own value"}),
        },
        started=common.parse_time(fields.get("started_at")),
        environment=environment,
        status="failed" if failed else "ok",
        reason="asv has no result of it" if failed else "",
    )


def _item(column: object, index: int) -> Any:
    return column[index] if isinstance(column, list) and index < len(column) else None


def _environment(content: Content, document: dict[str, Any]) -> Environment:
    params = common.table(content, document.get("params"), "params")
    needs = common.table(content, document.get("requirements"), "requirements")
    machine = {"cpu": params.get("cpu"), "cpus": params.get("num_cpu")}
    machine |= {"architecture": params.get("arch"), "memory": params.get("ram")}
    return Environment(
        machine=common.scalars(machine),
        system=common.scalars({"hostname": params.get("machine"), "platform": params.get("os")}),
        python=common.scalars({"version": document.get("python")}),
        packages={common.plain(k): common.plain(v) for k, v in needs.items()},
        git=common.scalars({"commit": document["commit_hash"]}),
    )


def _name(name: str, result: Result) -> str:
    """Cases of assay get a suffix with the metric for asv."""
    if result.case.backend == KIND:
        return name
    part = common.main_parts(result)[0]
    stem = next((s for s, (_, unit) in _MEASURES.items() if unit == part.unit), "track")
    return f"{name}.{stem}_{part.metric}"


def _row(results: Sequence[Result]) -> list[Any]:
    """One benchmark; cases with different parameters form asv's product."""
    names = list(dict.fromkeys(name for result in results for name in result.case.params))
    axis_names = names if results[0].case.backend == KIND else []
    axes = [list(dict.fromkeys(str(r.case.params.get(n)) for r in results)) for n in axis_names]
    cells = {tuple(str(r.case.params.get(n)) for n in axis_names): r for r in results}
    filled = [cells.get(chosen) for chosen in itertools.product(*axes)]
    columns = zip(*(_cell(result) for result in filled), strict=True)
    version = results[0].facts.get("asv.version") or _digest(results[0])
    result, low, high, q1, q3, number, repeat, samples = (list(column) for column in columns)
    started = _milliseconds(results[0].started)
    seconds = sum(each_result.seconds for each_result in results)
    return [result, axes, version, started, seconds, low, high, q1, q3, number, repeat, samples]


def _cell(result: Result | None) -> tuple[Any, ...]:
    parts = common.main_parts(result) if result else []
    values = common.finite(value for part in parts for value in part.values)
    if not values:
        return (None,) * 8
    middle = statistics.median(values)
    quarters = statistics.quantiles(values, n=4) if len(values) > 1 else [middle] * 3
    few = (-math.inf, math.inf)  # asv's value without an interval
    return (middle, *few, quarters[0], quarters[2], parts[0].steps, len(values), values)


def _milliseconds(started: str) -> int:
    from datetime import datetime

    return round(datetime.fromisoformat(started).timestamp() * 1000) if started else 0


def _digest(result: Result) -> str:
    """Changes when results stop being comparable, as asv's version does."""
    text = f"{result.case.key} {result.workload_version}"
    return hashlib.sha256(text.encode()).hexdigest()


PROVIDES = {
    KIND: Format(
        summary="airspeed velocity: the results of one commit on one machine",
        suffix=".json",
        matches=matches,
        read=read,
        write=write,
    )
}

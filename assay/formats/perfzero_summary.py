"""PerfZero's summary of one benchmark method: its wall time, metrics with bounds, and extras."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Environment, Result, Samples
from assay.formats import common
from assay.formats.perfzero.summary import Execution, system_info

KIND = "perfzero"
_PEAKS = ("max_rss", "max_vms", "max_cpu_percent")


def matches(content: Content) -> bool:
    documents = _all(content)
    return bool(documents) and all(
        isinstance(document, dict) and "benchmark_result" in document for document in documents
    )


def read(content: Content) -> Sequence[Result]:
    return [_result(content, document) for document in _all(content)]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    """One summary, or a list of them."""
    documents = [document(reading) for reading in readings]
    if not documents:
        raise common.no_values_error(KIND)
    return common.as_json(documents if len(documents) > 1 else documents[0])


def _all(content: Content) -> list[Any]:
    return content.json if isinstance(content.json, list) else [content.json]


def _result(content: Content, document: dict[str, Any]) -> Result:
    outcome = common.table(content, document["benchmark_result"], "benchmark_result")
    info = common.table(content, document.get("benchmark_info"), "benchmark_info")
    system = common.table(content, document.get("system_info"), "system_info")
    framework = common.table(content, document.get("ml_framework_info"), "ml_framework_info")
    process = common.table(content, document.get("process_info"), "process_info")
    name, version = framework.get("name"), framework.get("version")
    failed = outcome.get("succeeded") is False
    return common.make_result(
        KIND,
        common.text(content, outcome.get("name"), "name"),
        _samples(content, outcome),
        facts={
            **common.scalars(outcome, "perfzero.", ("name", "wall_time", "metrics", "extras")),
            **common.scalars({n: document.get(n) for n in ("execution_id",)}, "perfzero."),
            **common.scalars(info, "perfzero."),
        },
        started=common.parse_time(document.get("execution_timestamp")),
        environment=Environment(
            machine=common.scalars(
                {
                    "cpu": system.get("cpu_model"),
                    "cpus": system.get("logical_cpu_count"),
                    "gpus": system.get("accelerator_count"),
                    "gpu0": system.get("accelerator_model"),
                }
            ),
            system=common.scalars({"hostname": system.get("hostname")}),
            packages={common.plain(name): common.plain(version)} if name and version else {},
        ),
        peaks={n: common.number(content, process[n], n) for n in _PEAKS if n in process},
        status="failed" if failed else "ok",
        reason="PerfZero reports that it did not succeed" if failed else "",
    )


def _samples(content: Content, outcome: dict[str, Any]) -> Iterator[Samples]:
    wall = common.number(content, outcome.get("wall_time"), "wall_time")
    if wall >= 0:  # -1: nothing was reported
        yield common.steady_samples(common.WALL, "s", (wall,))
    for metric in common.values(content, outcome.get("metrics"), "metrics"):
        row = common.table(content, metric, "metrics")
        value = common.number(content, row.get("value"), f"the metric {row.get('name')}")
        yield common.steady_samples(common.text(content, row.get("name"), "name"), "", (value,))
    for extra in common.values(content, outcome.get("extras"), "extras"):
        row = common.table(content, extra, "extras")
        if isinstance(row.get("value"), int | float):
            name = common.text(content, row.get("name"), "name")
            yield common.steady_samples(name, "", (float(row["value"]),))


def document(reading: SummarizedResult) -> dict[str, Any]:
    """The summary of any result."""
    result, quantities = reading.result, reading.summary.quantities
    main = common.main_parts(result)
    metric = main[0].metric if main else ""
    wall = quantities[metric].value if metric in quantities else -1.0
    here = result.environment
    name, version = next(iter(here.packages.items()), ("none", ""))
    return {
        "execution_id": result.facts.get("perfzero.execution_id", result.id.replace("/", "-")),
        "execution_timestamp": result.started,
        "benchmark_result": {
            "name": common.name_for(KIND, result),
            "wall_time": wall,
            "succeeded": result.status == "ok",
            "extras": [],
            "metrics": [
                {"name": name, "value": quantity.value}
                for name, quantity in quantities.items()
                if name != metric
            ],
            "trial_id": result.facts.get("perfzero.trial_id", 1),
        },
        "benchmark_info": {"harness_name": "assay", "harness_info": {}, "has_exception": False},
        "setup_info": {},
        "ml_framework_info": {"name": name, "version": version, "build_version": ""},
        "system_info": {
            **system_info(here.machine, Execution(execution_id=result.id)),
            "hostname": here.system.get("hostname", ""),
        },
        "process_info": {name: result.peaks[name] for name in _PEAKS if name in result.peaks},
    }


PROVIDES = {
    KIND: Format(
        summary="PerfZero: perfzero_summary.json of a benchmark method",
        suffix=".json",
        matches=matches,
        read=read,
        write=write,
    )
}

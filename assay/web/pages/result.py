"""One result: its numbers, distribution, samples over time, monitors, environment, files."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from assay.commands.plot.api import process_series
from assay.commands.repro import setup
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.files import has_text_name, open_plain
from assay.core.findings import Quantity, SummarizedResult
from assay.core.records import Query
from assay.core.units import human, span
from assay.reporting import detail, results
from assay.reporting.accuracy import status_text
from assay.stats import stored_summary
from assay.web.charts.kinds import distribution_chart, process_charts, repeats_chart, samples_chart
from assay.web.page import Cell, Facts, Grid, Link, Page, Section
from assay.web.pages import PageRoute

LOGS = {"log", "log.gz", "output.log", "worker.log"}
MAX_LOG_BYTES = 20_000  # bytes of a log on its page; the file has the rest
MAX_UNPACKED = 16 << 20  # bytes of a packed log that are looked at
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
PAGES = (
    PageRoute(
        "/runs/{run}/{number}",
        lambda store, query, _: result_page(store, f"{query['run']}/{query['number']}"),
    ),
)


def result_page(store: Store, text: str) -> Page:
    matches = list(store.results(Query(ids=(text,))))
    if len(matches) != 1:
        raise UsageError(f"{text} cannot be read.", hint="; ".join(store.problems))
    reading = stored_summary.read(store, matches[0])
    result = reading.result
    folder = store.folder(result.id)
    step = reading.measured_only.get("step_time")
    return Page(
        title=result.case.key,
        lead=status_text(reading) + (f": {result.reason}" if result.reason else ""),
        mood="good" if status_text(reading) == "ok" else "bad",
        command=f"assay show {result.id}",
        document=results.results_document([reading], raw=True) | {"kind": "result"},
        sections=(
            _numbers(reading),
            *(_steps(reading) if step else []),
            *_reported_charts(reading),
            *_doubts(reading),
            *_phases(reading),
            *_processes(folder),
            *_facts(reading),
            _repeat_section(reading),
            *_files(folder, result.id),
        ),
    )


def result_files(folder: Path) -> list[Path]:
    """Plain files of a result, by name. Links lead elsewhere and are left out, and names that are
    not UTF-8, which no address can hold."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and has_text_name(path))
    return [
        path
        for path in paths
        if not path.is_symlink() and path.resolve().is_relative_to(folder.resolve())
    ]


def _steps(reading: SummarizedResult) -> list[Section]:
    values = [value for process in reading.steady_values() for value in process]
    return [
        Section(title="Distribution", chart=distribution_chart(values, "s")),
        Section(title="Samples over time", chart=samples_chart(reading)),
    ]


def _reported_charts(reading: SummarizedResult) -> list[Section]:
    """Values that a task or benchmark method reported, if more than one."""
    charts = [
        repeats_chart(name, values, quantity.unit)
        for name, quantity in reading.summary.quantities.items()
        if name != "step_time" and len(values := reading.result.values(name)) > 1
    ]
    return [Section(title="Each repeat", chart=Markup().join(charts))] if charts else []


def _numbers(reading: SummarizedResult) -> Section:
    names = detail.LINES | detail.PHASES
    rows = tuple(
        (
            Cell(text=name if name in reading.result.reported_metrics else names.get(name, name)),
            Cell(text=human(q.value, _unit(q)), sort=q.value if math.isfinite(q.value) else None),
            Cell(text=_interval(q)),
            Cell(text=q.estimator),
            Cell(text=str(q.n)),
        )
        for name, q in reading.summary.quantities.items()
    )
    columns = ("quantity", "value", "95 % interval", "estimator", "n")
    return Section(
        title="Numbers",
        grid=Grid(
            columns=columns,
            rows=rows,
            numeric=frozenset({"value", "95 % interval", "n"}),
            empty="Nothing was measured before it ended.",
        ),
    )


def _unit(quantity: Quantity) -> str:
    return "" if quantity.unit == "items/s" else quantity.unit


def _interval(quantity: Quantity) -> str:
    return span(quantity.low, quantity.high, lambda bound: human(bound, _unit(quantity)))


def _doubts(reading: SummarizedResult) -> list[Section]:
    lines = tuple(f"{d.text}. {d.remedy}".strip() for d in reading.summary.doubts)
    return [Section(title="Doubts", notes=lines)] if lines else []


def _phases(reading: SummarizedResult) -> list[Section]:
    """Where the time went; the phases add up to all of it."""
    phases = reading.result.phases
    whole = sum(phases.values())
    if not whole:
        return []
    rows = tuple(
        (
            Cell(text=name),
            Cell(text=human(seconds, "s"), sort=seconds),
            Cell(text=f"{100 * seconds / whole:.0f} %", sort=seconds),
        )
        for name, seconds in phases.items()
    )
    grid = Grid(columns=("phase", "time", "share"), rows=rows, numeric=frozenset({"time", "share"}))
    return [Section(title="Where the time went", grid=grid)]


def _processes(folder: Path) -> list[Section]:
    rows = process_series(sorted(folder.rglob("process_info.log")))
    charts = process_charts(rows)
    return [Section(title="While it ran", chart=Markup().join(charts))] if charts else []


def _facts(reading: SummarizedResult) -> list[Section]:
    result, here = reading.result, reading.result.environment
    groups: dict[str, Mapping[str, object]] = {
        "What ran": result.facts,
        "Peaks": {name: human(v, detail.unit_of(name)) for name, v in result.peaks.items()},
        "Machine": here.machine | here.system,
        "Packages": here.packages,
        "Environment variables": here.variables,
    }
    return [
        Section(
            title=title,
            closed=True,
            facts=Facts(items=tuple((k, str(v)) for k, v in values.items())),
        )
        for title, values in groups.items()
        if values
    ]


def _repeat_section(reading: SummarizedResult) -> Section:
    result = reading.result
    return Section(
        title="Measure it again",
        log=setup.command(result),
        links=(Link(text=f"Run {result.run}", to=f"/runs/{result.run}"),),
    )


def _files(folder: Path, result_id: str) -> list[Section]:
    files = [path for path in result_files(folder) if path.name != "result.json"]
    logs = [path for path in files if path.name in LOGS and path.stat().st_size]
    shown = [
        Section(title=f"Log: {path.relative_to(folder)}", log=_log_end(path), closed=True)
        for path in logs
    ]
    links = tuple(
        Link(
            text=f"{path.relative_to(folder)} ({human(path.stat().st_size, 'B')})",
            to=f"/files/{result_id}/{path.relative_to(folder)}",
        )
        for path in (*files, folder / "result.json")
    )
    other = sum(path.is_file() and not has_text_name(path) for path in folder.rglob("*"))
    notes = (f"{other} files have names that are not UTF-8 and are not shown.",) if other else ()
    return [*shown, Section(title="Files", links=links, notes=notes)]


def _log_end(path: Path) -> str:
    """The end of a log, without terminal control characters."""
    data = _unpack(path) if path.suffix == ".gz" else _last_bytes(path)
    return _CONTROL.sub("", data.decode(errors="replace"))


def _last_bytes(path: Path) -> bytes:
    with open_plain(path) as file:
        file.seek(max(0, path.stat().st_size - MAX_LOG_BYTES))
        return file.read(MAX_LOG_BYTES)


def _unpack(path: Path) -> bytes:
    """Limited, because a small file can hold a very long log."""
    try:
        with open_plain(path) as packed, gzip.open(packed) as file:
            return file.read(MAX_UNPACKED)[-MAX_LOG_BYTES:]
    except (OSError, EOFError, zlib.error):
        return b"(the log is damaged: download the file itself)"

"""One result: its numbers, distribution, samples over time, monitors, environment, files."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.findings import Quantity, Reading
from assay.core.records import Query
from assay.core.units import human
from assay.stores import summaries
from assay.verbs.plot import series_of
from assay.views import results, show
from assay.views.evaluate import standing
from assay.web.charts.kinds import distribution_chart, process_charts, samples_chart
from assay.web.page import Cell, Facts, Grid, Link, Page, Section

LOG = 20_000  # characters of a log on its page; the file has the rest


def result_page(store: Store, text: str) -> Page:
    found = list(store.results(Query(ids=(text,))))
    if len(found) != 1:
        raise UsageError(f"{text} cannot be read.", hint="; ".join(store.problems))
    reading = summaries.read(store, found[0])
    result = reading.result
    folder = store.folder(result.id)
    step = reading.own.get("step_time")
    return Page(
        title=result.case.key,
        lead=standing(reading) + (f": {result.reason}" if result.reason else ""),
        mood="good" if standing(reading) == "ok" else "bad",
        command=f"assay show {result.id}",
        document=results.results_document([reading], raw=True) | {"kind": "result"},
        sections=(
            _numbers(reading),
            Section(
                title="Distribution",
                chart=distribution_chart([v for p in reading.counted() for v in p], "s"),
                text="" if step else "No step time was measured.",
            ),
            *([Section(title="Samples over time", chart=samples_chart(reading))] if step else []),
            *_doubts(reading),
            *_processes(folder),
            *_facts(reading),
            _again(reading),
            *_files(folder, result.id),
        ),
    )


def files_of(folder: Path) -> list[Path]:
    """Plain files of a result, by name; links lead elsewhere and are left out."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        path
        for path in found
        if not path.is_symlink() and path.resolve().is_relative_to(folder.resolve())
    ]


def _numbers(reading: Reading) -> Section:
    rows = tuple(
        (
            Cell(text=show.LINES.get(name, name)),
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
    if not math.isfinite(quantity.low):
        return ""
    return f"{human(quantity.low, _unit(quantity))} – {human(quantity.high, _unit(quantity))}"


def _doubts(reading: Reading) -> list[Section]:
    lines = tuple(f"{d.text}. {d.remedy}".strip() for d in reading.summary.doubts)
    return [Section(title="Doubts", notes=lines)] if lines else []


def _processes(folder: Path) -> list[Section]:
    rows = series_of(sorted(folder.rglob("process_info.log")))
    charts = process_charts(rows)
    return [Section(title="While it ran", chart=Markup().join(charts))] if charts else []


def _facts(reading: Reading) -> list[Section]:
    result, here = reading.result, reading.result.environment
    groups: dict[str, Mapping[str, object]] = {
        "What ran": result.facts,
        "Peaks": {name: human(v, show.unit_of(name)) for name, v in result.peaks.items()},
        "Machine": here.machine | here.system,
        "Packages": here.packages,
        "Environment variables": here.variables,
    }
    return [
        Section(
            title=title, closed=True, facts=Facts(items=tuple((k, str(v)) for k, v in of.items()))
        )
        for title, of in groups.items()
        if of
    ]


def _again(reading: Reading) -> Section:
    result = reading.result
    return Section(
        title="Measure it again",
        log=f"assay run {shlex.quote(result.case.key)} --budget {result.procedure.budget:g}s",
        links=(Link(text=f"Run {result.run}", to=f"/runs/{result.run}"),),
    )


def _files(folder: Path, result_id: str) -> list[Section]:
    files = [path for path in files_of(folder) if path.name != "result.json"]
    logs = [path for path in files if path.name in {"log", "output.log", "worker.log"}]
    shown = [
        Section(title=f"Log: {path.relative_to(folder)}", log=_end(path), closed=True)
        for path in logs
        if path.stat().st_size
    ]
    links = tuple(
        Link(
            text=f"{path.relative_to(folder)} ({human(path.stat().st_size, 'B')})",
            to=f"/files/{result_id}/{path.relative_to(folder)}",
        )
        for path in (*files, folder / "result.json")
    )
    return [*shown, Section(title="Files", links=links)]


def _end(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LOG))
        return file.read(LOG).decode(errors="replace")

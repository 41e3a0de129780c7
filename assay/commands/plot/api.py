"""Results as figures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal, get_args

from assay.commands.plot import figures
from assay.commands.race.ranking import Race
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.findings import SummarizedResult
from assay.core.options import Argument, Flag, StoreUrl, accept_old_keywords
from assay.core.records import Query
from assay.core.registry import open_store
from assay.core.units import as_choice
from assay.stats import stored_summary
from assay.stats.paired_ratio import Comparison
from assay.stores.runs import COMPARISON, RACE, read_document

Series = Literal["process", "samples"]


@accept_old_keywords(home="store")
def plot(
    what: Annotated[str, Argument("ID", complete="runs")],
    series: Annotated[Series, Flag("Plot every sample, or memory and CPU over time.")] = "samples",
    output: Annotated[
        str | Path,
        Flag("Figure to write: .png, .svg or .pdf.", "FILE", flags="-o --output", required=True),
    ] = "",
    store: StoreUrl = None,
) -> Path:
    """Draw the samples of results, or the process series of one: PNG, SVG or PDF by the name.

    `what` is an id, or for the process series the path of a `process_info.log`. A comparison or a
    race is one chart; a training or a task is drawn by its metrics.
    """
    series = as_choice(series, "series", get_args(Series))
    path = figures.check_figure_path(Path(output))
    if series == "process" and Path(what).is_file():
        figures.process(process_series([Path(what)]), what, path)
        return path
    with closing(open_store(store)) as results:
        if series == "samples":
            _draw(results, what, path)
        else:
            result = _select_metrics(_readings(results, what), what).result
            logs = sorted(results.folder(result.id).rglob("process_info.log"))
            figures.process(process_series(logs), f"{result.case.key}  ({result.id})", path)
    return path


def process_series(logs: Sequence[Path]) -> list[dict[str, float]]:
    """The lines of process logs; those that were cut short are left out."""
    from assay.monitors.sources.series import read

    return [row for log in logs for row in read(log)]


def _draw(store: Store, what: str, path: Path) -> None:
    run = "" if "/" in what else store.find_run(what)
    if run and store.document(run, COMPARISON) is not None:
        figures.comparison(read_document(store, run, COMPARISON, Comparison), path)
    elif run and store.document(run, RACE) is not None:
        figures.race(read_document(store, run, RACE, Race), path)
    else:
        figures.samples(_readings(store, what), path)


def _readings(store: Store, what: str) -> list[SummarizedResult]:
    return [stored_summary.read(store, result) for result in store.results(Query(ids=(what,)))]


def _select_metrics(readings: Sequence[SummarizedResult], what: str) -> SummarizedResult:
    if len(readings) != 1:
        ids = ", ".join(reading.result.id for reading in readings)
        raise UsageError(
            f"'{what}' names {len(readings)} results, but this figure shows one.",
            hint=f"Choose one of: {ids}" if readings else "assay list results shows what there is.",
        )
    return readings[0]

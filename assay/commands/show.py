"""assay show: stored results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import click_command
from assay.cli.main import load
from assay.commands.list.api import numbers_text, run_headline
from assay.core.errors import UsageError
from assay.core.findings import Mismatch, Ranking, SummarizedResult
from assay.core.options import Argument, Columns, Flag, Format, StoreUrl
from assay.core.records import Query
from assay.core.registry import open_store
from assay.reporting.results import output
from assay.reporting.timings import winner_text
from assay.stats.fairness.checks import fairness
from assay.stores import read

VERDICT_COMMANDS = (
    "ab",
    "race",
    "study",
    "bisect",
)  # commands that show more than the results of their run


@click_command(
    epilog="""\b
Examples:
  assay show last
  assay show 20261115-101500-k3fq/002 --format json
  assay show k3fq --format markdown
  assay show last --columns memory,p50,p99,energy
  assay show last --format json --raw        every sample too
  assay show last --results                  the processes of a comparison, race or study"""
)
def command(
    ids: Annotated[tuple[str, ...], Argument("ID…", complete="runs", required=True)],
    *,
    results: Annotated[bool, Flag("Show the results behind a comparison, race or study.")] = False,
    raw: Annotated[bool, Flag("With --format json: every sample too.")] = False,
    columns: Columns = (),
    store: StoreUrl = None,
    format: Format = "text",
) -> int:
    """Show runs or single results. A single result is shown in full detail.

    ID is RUN, RUN/001, a unique beginning or ending of RUN, or `last`. A comparison, race or study
    is shown as it was when it ended.
    """
    if len(ids) == 1 and "/" not in ids[0] and not (results or raw or columns):
        verb = read.verb_of_run(ids[0], store)
        if verb in VERDICT_COMMANDS:
            load(verb).show(ids[0], store, format)
            return 0
    readings = read.read_results(
        Query(ids=ids), store=store, say=lambda line: options.print_message(line)
    )
    if not readings:
        raise UsageError(
            f"{' '.join(ids)} has no readable result.",
            hint=read.resume_hint(ids[0].partition("/")[0], store),
        )
    mismatches = fairness(reading.result for reading in readings)
    ranking = _rank(readings, mismatches) if len(readings) > 1 else None
    shown = output(readings, mismatches, columns, detailed=True, raw=raw, ranking=ranking)
    if format == "text" and len({reading.result.run for reading in readings}) == 1:
        printing.put_verdict(_verdict(readings, ranking, store))
    printing.show(shown, format)
    return 0


def _rank(readings: Sequence[SummarizedResult], mismatches: Sequence[Mismatch]) -> Ranking | None:
    from assay.stats.winner import rank  # here: it loads numpy

    return rank(readings, mismatches)


def _verdict(readings: Sequence[SummarizedResult], ranking: Ranking | None, store: StoreUrl) -> str:
    """Of the run: what it decided, the fastest of its cases, or its main metric."""
    with closing(open_store(store)) as opened:
        decided = run_headline(opened, readings[0].result.run)
    failed = sum(reading.result.status not in {"ok", "skipped"} for reading in readings)
    return decided or winner_text(readings, ranking) or numbers_text(readings, failed)

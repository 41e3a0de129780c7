"""Copy missing results from one store to another."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Annotated

import click
import msgspec

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.core.contracts import Store
from assay.core.errors import StoreError, UsageError
from assay.core.findings import ANALYSIS_VERSION, Output, Table
from assay.core.options import Argument, Format
from assay.core.records import SCHEMA, Query
from assay.core.registry import open_store
from assay.core.settings import Home, place


def copy_store(
    source: Annotated[Home, Argument("FROM")],
    target: Annotated[Home, Argument("TO")],
    progress: Callable[[int, int, str], None] | None = None,
) -> CopyReport:
    """Copy every result that the target does not have, with its files; an interrupted copy can be
    repeated. `progress` gets the number of a run, how many there are, and its name.

    >>> assay.copy_store("~/.assay", "postgresql://me@db.example.org/assay").copied
    """
    if place(source) == place(target):
        raise UsageError(
            "The store to copy from is the one to copy to.", hint="assay store copy FROM TO"
        )
    with closing(open_store(source)) as old, closing(open_store(target)) as new:
        entries = old.entries(Query())
        known = {entry.id for entry in new.entries(Query())}
        missing = _by_run([entry.id for entry in entries if entry.id not in known])
        copied = 0
        for number, (run, ids) in enumerate(missing.items(), 1):
            if progress:
                progress(number, len(missing), run)
            copied += _copy_run(old, new, run, ids)
        return CopyReport(
            runs=len({entry.run for entry in entries}),
            results=len(entries),
            copied=copied,
            problems=(*old.problems, *new.problems),
        )


def _by_run(ids: list[str]) -> dict[str, list[str]]:
    runs: dict[str, list[str]] = {}
    for result_id in ids:
        runs.setdefault(result_id.partition("/")[0], []).append(result_id)
    return runs


def _copy_run(old: Store, new: Store, run: str, ids: list[str]) -> int:
    """Copy a run with its summaries, so that nothing has to be computed again."""
    try:
        new.adopt(old.folder(run))
    except (StoreError, UsageError) as error:
        new.problems.append(f"Run {run} was not copied: {error}")
        return 0
    for result_id in ids:
        summary = old.summary(result_id, ANALYSIS_VERSION)
        if summary is not None:
            new.keep_summary(result_id, ANALYSIS_VERSION, summary)
    return len(ids)


def output(report: CopyReport) -> Output:
    counts = {"runs": report.runs, "results": report.results, "copied": report.copied}
    counts["already there"] = report.results - report.copied
    return Output(
        tables=(
            Table(
                columns=tuple(counts),
                rows=(tuple(map(str, counts.values())),),
                numeric=frozenset(counts),
            ),
        ),
        document={
            "schema": SCHEMA,
            "kind": "store-copy",
            "runs": report.runs,
            "results": report.results,
            "copied": report.copied,
            "problems": list(report.problems),
        },
    )


@click.group(
    epilog="""\b
Examples:
  assay store copy ~/.assay postgresql://me@db.example.org/assay
  assay store copy sqlite:/data/old sqlite:/data/new --format json
  assay store copy postgresql://me@db.example.org/assay ./offline"""
)
def command() -> None:
    """Copy results between stores: folders and databases, in any direction."""


@click_command(copy_store, group=command, name="copy")
def copy(keywords: Keywords, format: Format = "text") -> int:
    """Copy every result of FROM that is missing in TO, with logs and traces.

    Nothing is copied twice or changed; an interrupted copy can be repeated. FROM and TO are folders
    or URLs. Exit status 1: something could not be copied, and is reported.
    """
    report = copy_store(**keywords, progress=_say)
    printing.show(output(report), format)
    options.print_message(*report.problems)
    return 1 if report.problems else 0


def _say(number: int, runs: int, run: str) -> None:
    if number == 1 or number == runs or number % 100 == 0 or options.is_terminal():
        options.print_message(f"[{number}/{runs}] {run}")


class CopyReport(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a copy from one store to another."""

    runs: int  # of the source
    results: int
    copied: int  # results that were not there before
    problems: tuple[str, ...] = ()  # what was skipped, and why

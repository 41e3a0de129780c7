"""Copy results from one store to another: all that is missing there, each once, however often."""

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
from assay.core.findings import ANALYSIS, Output, Table
from assay.core.options import Argument, Format
from assay.core.records import SCHEMA, Query
from assay.core.registry import open_store
from assay.core.settings import Home, place


def copy_store(
    source: Annotated[Home, Argument("FROM")],
    target: Annotated[Home, Argument("TO")],
    progress: Callable[[int, int, str], None] | None = None,
) -> Copied:
    """Copy every result of a store that another lacks, with its files; one that was broken off is
    simply called again. `progress` gets the number of a run, how many there are, and its name.

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
        return Copied(
            runs=len({entry.run for entry in entries}),
            results=len(entries),
            copied=copied,
            problems=(*old.problems, *new.problems),
        )


def _by_run(ids: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in ids:
        found.setdefault(one.partition("/")[0], []).append(one)
    return found


def _copy_run(old: Store, new: Store, run: str, ids: list[str]) -> int:
    """A run at once; its summaries too, so that nothing has to be computed again."""
    try:
        new.adopt(old.folder(run))
    except (StoreError, UsageError) as error:
        new.problems.append(f"Run {run} was not copied: {error}")
        return 0
    for one in ids:
        summary = old.summary(one, ANALYSIS)
        if summary is not None:
            new.keep_summary(one, ANALYSIS, summary)
    return len(ids)


def output(found: Copied) -> Output:
    counts = {"runs": found.runs, "results": found.results, "copied": found.copied}
    counts["there before"] = found.results - found.copied
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
            "runs": found.runs,
            "results": found.results,
            "copied": found.copied,
            "problems": list(found.problems),
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
    """Copy every result of FROM that TO lacks, with logs and traces.

    Nothing is copied twice and nothing changed: one that was broken off is started again. FROM and
    TO are folders or URLs. Exit status 1: something could not be copied, which is said.
    """
    found = copy_store(**keywords, progress=_say)
    printing.show(output(found), format)
    options.say(*found.problems)
    return 1 if found.problems else 0


def _say(number: int, runs: int, run: str) -> None:
    if number == 1 or number == runs or number % 100 == 0 or options.to_terminal():
        options.say(f"[{number}/{runs}] {run}")


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """What a copy from one store to another found and did."""

    runs: int  # of the source
    results: int
    copied: int  # results that were not there before
    problems: tuple[str, ...] = ()  # what was passed over, in words

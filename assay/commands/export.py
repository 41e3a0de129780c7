"""Kept results as files that other tools read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import click

from assay.cli import complete, options, printing
from assay.cli.progress import write_over
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.files import user_file
from assay.core.findings import Reading
from assay.core.formats import Format
from assay.core.progress import ignore
from assay.core.records import Query
from assay.core.registry import everything, file_format, open_store
from assay.core.settings import Home
from assay.stats import stored_summary

BINARY = (".parquet",)  # suffixes of files that no terminal can show


def export(
    *ids: str,
    kind: str,
    output: str | Path = "",
    query: Query = Query(),  # noqa: B008 (frozen)
    home: Home = None,
    progress: Callable[[int, int], None] = ignore,
) -> bytes:
    """Results in the format of another tool: what the file holds, written to `output` if given.

    Without ids, all that the query finds: the whole store, if it restricts nothing. `progress` is
    called with how many of how many were read.
    """
    form = file_format(kind)
    write = form.write
    if write is None:
        known = [name for name, one in everything("formats")[0].items() if one.write]
        raise UsageError(f"Files of {kind} are only read here.", hint=f"Known: {', '.join(known)}.")
    with closing(open_store(home)) as store:
        data = write(_readings(store, Query(ids=ids) if ids else query, progress))
    if output:
        with user_file(output) as temporary:
            temporary.write_bytes(data)
    return data


def is_binary(form: Format) -> bool:
    return form.suffix in BINARY


def _readings(
    store: Store, query: Query, progress: Callable[[int, int], None]
) -> Iterator[Reading]:
    """One after the other: a whole store need not fit into memory."""
    found, count = False, store.count(query)
    for number, result in enumerate(store.results(query)):
        progress(number, count)
        if result.status != "interrupted":
            found = True
            yield stored_summary.read(store, result)
    progress(count, count)
    if not found:
        raise UsageError(
            f"{' '.join(query.ids) or 'The query'} has no result to export.",
            hint="assay list results shows what there is.",
        )


@click.command(
    epilog="""\b
Examples:
  assay export last --as pyperf -o last.json
  assay export k3fq/001 k3fq/002 --as google-benchmark
  assay export --label nightly --as csv -o nightly.csv
  assay export --all --as parquet -o store.parquet"""
)
@click.argument("ids", nargs=-1, metavar="[ID…]", shell_complete=complete.runs)
@click.option(
    "--as",
    "kind",
    required=True,
    metavar="KIND",
    shell_complete=complete.file_formats,
    help="Format to write; `assay list formats` shows them.",
)
@click.option("-o", "--output", default="", metavar="FILE", help="File to write; default: print.")
@click.option("--all", "every", is_flag=True, help="Export the whole store.")
@click.option("--workload", default="", help="Only results of this workload.")
@click.option("--backend", default="", help="Only results of this backend.")
@click.option("--label", default="", help="Only results with this label.")
@click.option("--since", default="", metavar="DATE", help="Only results from this day on.")
@click.option("--until", default="", metavar="DATE", help="Only results up to this day.")
@options.tag
@options.home
def command(
    ids: tuple[str, ...],
    kind: str,
    output: str,
    every: bool,
    tags: tuple[str, ...],
    home: str | None,
    **given: str,
) -> int:
    """Write results as a file that another tool reads.

    ID is RUN, RUN/NNN, a unique beginning or ending of RUN, or `last`.
    """
    query = Query(tags=options.pairs(tags, "--tag"), **given)  # type: ignore[arg-type]
    chosen = [name for name, is_given in _choices(ids, every, query).items() if is_given]
    if len(chosen) != 1:
        raise UsageError(
            f"{' and '.join(chosen) or 'Nothing'} was given to export.",
            hint="Give ids, or --all, or filters such as --label.",
        )
    if is_binary(file_format(kind)) and not output:
        raise UsageError(f"A file of {kind} cannot be printed.", hint=f"-o results.{kind}")
    data = export(*ids, kind=kind, output=output, query=query, home=home, progress=_say_how_far)
    if output:
        options.say(f"written to {output}")
    else:
        printing.put_file(data)
    return 0


def _say_how_far(done: int, count: int) -> None:
    """A line that is written over on a terminal; elsewhere one for each thousand results."""
    if options.to_terminal():
        if done == count or done % max(1, count // 100) == 0:
            end = "\r\033[K" if done == count else f"\r\033[K{done} of {count} results"
            write_over(end)
    elif done and done % 1000 == 0 and done < count:
        options.say(f"{done} of {count} results")


def _choices(ids: tuple[str, ...], every: bool, query: Query) -> dict[str, bool]:
    return {"ids": bool(ids), "--all": every, "a filter": query != Query()}

"""Export results in the formats of other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.progress import OverwrittenLine
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.files import write_user_file
from assay.core.findings import SummarizedResult
from assay.core.formats import Format
from assay.core.options import (
    Argument,
    BackendFilter,
    Flag,
    LabelFilter,
    Since,
    StoreUrl,
    Tags,
    Until,
    WorkloadFilter,
    accept_old_keywords,
)
from assay.core.progress import ignore
from assay.core.records import Query
from assay.core.registry import all_plugins, file_format, open_store
from assay.stats import stored_summary

BINARY = (".parquet",)  # suffixes of files that no terminal can show


@accept_old_keywords(home="store")
def export(
    *ids: str,
    kind: Annotated[
        str,
        Flag(
            "Format to write; `assay list formats` shows them.",
            "KIND",
            flags="--as",
            complete="file_formats",
            required=True,
        ),
    ],
    output: Annotated[
        str | Path, Flag("File to write; default: print.", "FILE", flags="-o --output")
    ] = "",
    query: Query = Query(),  # noqa: B008 (frozen)
    store: StoreUrl = None,
    progress: Callable[[int, int], None] = ignore,
) -> bytes:
    """Results in the format of another tool, as bytes; written to `output` if given.

    Without ids, all results of the query; an empty query is the whole store. `progress` is
    called with how many of how many were read.
    """
    format = file_format(kind)
    write = format.write
    if write is None:
        known = [name for name, each in all_plugins("formats")[0].items() if each.write]
        raise UsageError(
            f"assay reads files of {kind}, but does not write them.",
            hint=f"Known: {', '.join(known)}.",
        )
    with closing(open_store(store)) as results:
        data = write(_readings(results, Query(ids=ids) if ids else query, progress))
    if output:
        write_user_file(output, data)
    return data


def is_binary(format: Format) -> bool:
    return format.suffix in BINARY


def _readings(
    store: Store, query: Query, progress: Callable[[int, int], None]
) -> Iterator[SummarizedResult]:
    """One by one: a whole store need not fit into memory."""
    exported, count = False, store.count(query)
    for number, result in enumerate(store.results(query)):
        progress(number, count)
        if result.status != "interrupted":
            exported = True
            yield stored_summary.read(store, result)
    progress(count, count)
    if not exported:
        raise UsageError(
            f"{' '.join(query.ids) or 'The query'} has no result to export.",
            hint="assay list results shows what there is.",
        )


@click_command(
    export,
    epilog="""\b
Examples:
  assay export last --as pyperf -o last.json
  assay export k3fq/001 k3fq/002 --as google-benchmark
  assay export --label nightly --as csv -o nightly.csv
  assay export --all --as parquet -o store.parquet""",
)
def command(
    ids: Annotated[tuple[str, ...], Argument("[ID…]", complete="runs")],
    keywords: Keywords,
    *,
    kind: str,
    output: str,
    every: Annotated[bool, Flag("Export the whole store.", flags="--all")] = False,
    workload: WorkloadFilter = "",
    backend: BackendFilter = "",
    label: LabelFilter = "",
    since: Since = "",
    until: Until = "",
    tags: Tags = None,
) -> int:
    """Write results as a file that another tool reads.

    ID is RUN, RUN/001, a unique beginning or ending of RUN, or `last`.
    """
    query = Query(
        workload=workload,
        backend=backend,
        label=label,
        since=since,
        until=until,
        tags=tags or {},
    )
    chosen = [name for name, is_set in _format_choices(ids, every, query).items() if is_set]
    if len(chosen) != 1:
        raise UsageError(
            f"{' and '.join(chosen) or 'Nothing'} was given to export.",
            hint="Give ids, or --all, or filters such as --label.",
        )
    if is_binary(file_format(kind)) and not output:
        raise UsageError(f"A file of {kind} cannot be printed.", hint=f"-o results.{kind}")
    data = export(*ids, **keywords, query=query, progress=_Progress())
    if output:
        options.print_message(f"written to {output}")
    else:
        printing.put_file(data)
    return 0


class _Progress:
    """A progress line, updated in place on a terminal; else one per thousand results."""

    def __init__(self) -> None:
        self._line = OverwrittenLine()

    def __call__(self, done: int, count: int) -> None:
        text = f"{done} of {count} results"
        if done == count:
            self._line.clear()
        elif options.is_terminal():
            if done % max(1, count // 100) == 0:
                self._line.show(text)
        elif done and done % 1000 == 0:
            options.print_message(text)


def _format_choices(ids: tuple[str, ...], every: bool, query: Query) -> dict[str, bool]:
    return {"ids": bool(ids), "--all": every, "a filter": query != Query()}

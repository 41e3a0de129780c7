"""assay export: results as files of other tools."""

from __future__ import annotations

import click

from assay.cli import complete, options, printing
from assay.cli.progress import write_over
from assay.commands import fold_verbs_export
from assay.core.errors import UsageError
from assay.core.records import Query
from assay.core.registry import file_format


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
    if fold_verbs_export.is_binary(file_format(kind)) and not output:
        raise UsageError(f"A file of {kind} cannot be printed.", hint=f"-o results.{kind}")
    data = fold_verbs_export.export(
        *ids, kind=kind, output=output, query=query, home=home, progress=_say_how_far
    )
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

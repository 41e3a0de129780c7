"""assay results: label, tag, pack and remove stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import click

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.commands.results import api
from assay.commands.results.view import output, pack_output
from assay.core.errors import UsageError
from assay.core.options import BackendFilter, Flag, Format, WorkloadFilter
from assay.core.records import Query

Yes = Annotated[bool, Flag("Delete (default: dry run).")]


@click.group(
    epilog="""\b
Examples:
  assay results rm k3fq                          dry run: lists what would be removed
  assay results rm k3fq --yes
  assay results label last baseline
  assay results tag last gpu=H200 --drop note
  assay results prune --keep 100                 all but the newest 100 of each series
  assay results prune --before 2026-06 --status failed --yes
  assay results pack --before 2026-06            their folders into a few files"""
)
def command() -> None:
    """Label, tag, pack or remove stored results; removal is a dry run unless --yes is given."""


@click_command(api.count_files, group=command, name="rm")
def remove(
    keywords: Keywords, *, yes: Yes = False, store: str | None, format: Format = "text"
) -> int:
    """List the results of runs or single results; with --yes, delete them."""
    return _show(api.count_files(**keywords), yes, store, format)


@click_command(api.relabel, group=command, name="label")
def relabel(keywords: Keywords) -> int:
    """Change the label of results; "" removes it."""
    printing.put(*api.relabel(**keywords))
    return 0


@click_command(api.retag, group=command, name="tag")
def retag(ids: tuple[str, ...], drop: tuple[str, ...], store: str | None) -> int:
    """Add tags to results: ID… NAME=VALUE…"""
    tags = [word for word in ids if "=" in word]
    if not tags and not drop:
        raise UsageError("No tag was given.", hint="As in: assay results tag last gpu=H200")
    named = [word for word in ids if "=" not in word]
    printing.put(*api.retag(named, options.pairs(tags, "tag"), drop, store))
    return 0


@click_command(api.old_results, group=command, name="prune")
def prune(
    keywords: Keywords,
    *,
    before: Annotated[str, Flag("Only results up to this day.", "DATE")] = "",
    workload: WorkloadFilter = "",
    backend: BackendFilter = "",
    status: Annotated[str, Flag("Filter by status: failed, timeout, …")] = "",
    label: Annotated[str, Flag("Only results with this label; others are kept.")] = "",
    yes: Yes = False,
    store: str | None,
    format: Format = "text",
) -> int:
    """List old results; with --yes, delete them. Labelled results are kept."""
    query = Query(workload=workload, backend=backend, status=status, label=label, until=before)
    return _show(api.old_results(query, **keywords), yes, store, format)


@click_command(api.pack, group=command, name="pack")
def pack(keywords: Keywords, format: Format = "text") -> int:
    """Pack the folders of old runs into a few files, which are read like folders."""
    printing.show(pack_output(api.pack(**keywords)), format)
    return 0


def _show(files: Sequence[api.StoredFiles], yes: bool, store: str | None, format: str) -> int:
    """List the results before they are removed."""
    note = "these are removed" if yes else "dry run: repeat with --yes to remove them"
    printing.show(output([(each.result, each.files, each.bytes) for each in files], note), format)
    if yes and files:
        removed = api.remove([each.result.id for each in files], store)
        options.print_message(f"{len(removed)} results were removed")
    return 0

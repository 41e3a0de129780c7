"""assay results: kept results put in order."""

from __future__ import annotations

from collections.abc import Sequence

import click

from assay.cli import complete, options, printing
from assay.commands.results import api
from assay.commands.results.view import output, packed
from assay.core.errors import UsageError
from assay.core.records import Query

_ids = click.argument("ids", nargs=-1, required=True, metavar="ID…", shell_complete=complete.runs)
_yes = click.option("--yes", is_flag=True, help="Really remove what is listed.")


@click.group(
    epilog="""\b
Examples:
  assay results rm k3fq                          what would go; nothing does
  assay results rm k3fq --yes
  assay results label last baseline
  assay results tag last gpu=H200 --drop note
  assay results prune --keep 100                 all but the newest 100 of each series
  assay results prune --before 2026-06 --status failed --yes
  assay results pack --before 2026-06            their folders into a few files"""
)
def command() -> None:
    """Label, tag, pack or remove kept results; nothing is removed that was not listed first."""


@command.command("rm")
@_ids
@_yes
@options.home
@options.form
def remove(ids: tuple[str, ...], yes: bool, home: str | None, form: str) -> int:
    """List the results of runs or single results; with --yes, remove them for good."""
    return _shown(api.kept_files(ids, home), yes, home, form)


@command.command("label")
@_ids
@click.argument("label")
@options.home
def relabel(ids: tuple[str, ...], label: str, home: str | None) -> int:
    """Give results another label; "" takes it away."""
    return _listed(api.relabel(ids, label, home))


@command.command("tag")
@_ids
@click.option("--drop", multiple=True, metavar="NAME", help="Tag to take away; repeatable.")
@options.home
def retag(ids: tuple[str, ...], drop: tuple[str, ...], home: str | None) -> int:
    """Give results tags: ID… NAME=VALUE…"""
    tags = [word for word in ids if "=" in word]
    if not tags and not drop:
        raise UsageError("No tag was given.", hint="As in: assay results tag last gpu=H200")
    named = [word for word in ids if "=" not in word]
    return _listed(api.retag(named, options.pairs(tags, "tag"), drop, home))


@command.command("prune")
@click.option("--keep", type=click.IntRange(0), default=0, help="Keep the newest N of each series.")
@click.option("--before", default="", metavar="DATE", help="Only results up to this day.")
@click.option("--workload", default="", help="Only results of this workload.")
@click.option("--backend", default="", help="Only results of this backend.")
@click.option("--status", default="", help="Only results that ended so: failed, timeout, …")
@click.option("--label", default="", help="Only results with this label; others are kept.")
@_yes
@options.home
@options.form
def prune(
    keep: int,
    before: str,
    workload: str,
    backend: str,
    status: str,
    label: str,
    yes: bool,
    home: str | None,
    form: str,
) -> int:
    """List old results; with --yes, remove them for good. Those with a label are kept."""
    query = Query(workload=workload, backend=backend, status=status, label=label, until=before)
    return _shown(api.prunable(query, keep, home), yes, home, form)


@command.command("pack")
@click.option("--before", required=True, metavar="DATE", help="Only runs older than this day.")
@options.home
@options.form
def pack(before: str, home: str | None, form: str) -> int:
    """Put the folders of old runs into a few files; they are found and shown as before."""
    printing.show(packed(api.pack(before, home)), form)
    return 0


def _shown(found: Sequence[api.KeptFiles], yes: bool, home: str | None, form: str) -> int:
    """What goes, before it does."""
    note = "these are removed" if yes else "nothing was removed: repeat it with --yes"
    printing.show(output([(one.result, one.files, one.bytes) for one in found], note), form)
    if yes and found:
        gone = api.remove([one.result.id for one in found], home)
        options.say(f"{len(gone)} results were removed")
    return 0


def _listed(ids: Sequence[str]) -> int:
    for found in ids:
        printing.put(found)
    return 0

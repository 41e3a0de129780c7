"""assay store: results from one store to another."""

from __future__ import annotations

import click

from assay.cli import options, printing
from assay.commands import fold_verbs_store
from assay.commands.fold_views_store import output


@click.group(
    epilog="""\b
Examples:
  assay store copy ~/.assay postgresql://me@db.example.org/assay
  assay store copy sqlite:/data/old sqlite:/data/new --format json
  assay store copy postgresql://me@db.example.org/assay ./offline"""
)
def command() -> None:
    """Copy results between stores: folders and databases, in any direction."""


@command.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@options.form
def copy(source: str, target: str, form: str) -> int:
    """Copy every result of FROM that TO lacks, with logs and traces.

    Nothing is copied twice and nothing changed: one that was broken off is started again. FROM and
    TO are folders or URLs. Exit status 1: something could not be copied, which is said.
    """
    found = fold_verbs_store.copy_store(source, target, _say)
    printing.show(output(found), form)
    options.say(*found.problems)
    return 1 if found.problems else 0


def _say(number: int, runs: int, run: str) -> None:
    if number == 1 or number == runs or number % 100 == 0 or options.to_terminal():
        options.say(f"[{number}/{runs}] {run}")

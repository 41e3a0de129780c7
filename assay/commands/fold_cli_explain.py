"""assay explain: why two results differ."""

from __future__ import annotations

import click

from assay.cli import complete, options, printing
from assay.commands import fold_verbs_explain
from assay.commands.fold_views_explain import output


@click.command(
    epilog="""\b
Examples:
  assay explain k3fq last                    two runs of one result each
  assay explain last/1 last/2 --format json"""
)
@click.argument("before", shell_complete=complete.runs)
@click.argument("after", shell_complete=complete.runs)
@options.home
@options.form
def command(before: str, after: str, home: str | None, form: str) -> int:
    """Explain why result AFTER differs from result BEFORE.

    Differences of environment, packages, flags, clocks, neighbours' load and, where both were
    profiled, of operations: the likeliest reason first, with the comparison that would prove it.
    """
    printing.show(output(fold_verbs_explain.explain(before, after, home)), form)
    return 0

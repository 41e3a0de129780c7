"""assay compare: any two sets of kept results."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import complete, options, printing
from assay.cli.finish import REGRESSION, UNDECIDED
from assay.commands.compare import api as verb


@click.command(
    epilog="""\b
Examples:
  assay compare before after                     two labels
  assay compare k3fq last --by backend           two runs; a mean for each backend
  assay compare k3fq/001 pyperf.json             a result, and a file of another tool
  assay compare 2026-11-15 2026-11-16 --gate     two days; leaves with 5 if something is slower
  assay compare jax torch --across backend       two labels that differ in the backend"""
)
@click.argument("baseline", shell_complete=complete.runs)
@click.argument("candidate", shell_complete=complete.runs)
@click.option(
    "--metric", default="", help="Metric to compare, or `all`; default: step or wall time."
)
@click.option("--by", default="", metavar="NAME", help="Give a mean for each backend, workload, …")
@click.option(
    "--across", default="", metavar="NAME", help="Match cases that differ in backend, workload, …"
)
@click.option(
    "--min-effect",
    "minimum",
    default="1%",
    show_default=True,
    help="Smallest difference that counts as a change.",
)
@click.option("--anyway", is_flag=True, help="Compare what is not the same work, too.")
@click.option(
    "--gate",
    is_flag=True,
    help="Leave with 5 if a case is slower, and with 6 if none is but one is undecided.",
)
@options.home
@options.form
def command(baseline: str, candidate: str, gate: bool, form: str, **given: Any) -> int:
    """Compare results that are kept, or files of other tools: the ratio is CANDIDATE over BASELINE.

    Each of the two is a run, RUN/NNN, `last`, a label, NAME=VALUE of a tag, a commit, a day or a
    file. To measure two side by side instead, use assay ab.
    """
    from assay.commands.compare.view import output

    found = verb.compare(baseline, candidate, **given)
    printing.show(output(found), form)
    if not gate:
        return 0
    verdicts = {one.verdict for one in found.differences}
    if "slower" in verdicts:
        return REGRESSION
    return UNDECIDED if verdicts & {"cannot-tell", "not-comparable"} else 0

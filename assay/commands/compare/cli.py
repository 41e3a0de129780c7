"""assay compare: two sets of stored results."""

from __future__ import annotations

from typing import Annotated

from assay.cli import printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import REGRESSION, UNDECIDED
from assay.commands.compare import api
from assay.core.options import Flag, Format


@click_command(
    api.compare,
    epilog="""\b
Examples:
  assay compare before after                     two labels
  assay compare k3fq last --by backend           two runs; a mean for each backend
  assay compare k3fq/001 pyperf.json             a result, and a file of another tool
  assay compare 2026-11-15 2026-11-16 --gate     two days; exits with 5 if any case is slower
  assay compare jax torch --across backend       two labels that differ in the backend""",
)
def command(
    keywords: Keywords,
    *,
    gate: Annotated[
        bool,
        Flag("Exit 5 if any case is slower, 6 if undecided."),
    ] = False,
    format: Format = "text",
) -> int:
    """Compare stored results or files of other tools: the ratio is CANDIDATE over BASELINE.

    Each of the two is a run, RUN/001, `last`, a label, NAME=VALUE of a tag, a commit, a day or a
    file. To measure two side by side instead, use assay ab.
    """
    from assay.commands.compare.view import output

    differences = api.compare(**keywords)
    printing.show(output(differences), format)
    if not gate:
        return 0
    verdicts = {each.verdict for each in differences.differences}
    if "slower" in verdicts:
        return REGRESSION
    return UNDECIDED if verdicts & {"cannot-tell", "not-comparable"} else 0

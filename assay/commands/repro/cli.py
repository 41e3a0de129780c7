"""assay repro: reproduce a stored result."""

from __future__ import annotations

from assay.cli import printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import handle_signals
from assay.cli.progress import ProgressLine
from assay.commands.repro import api
from assay.core.options import Format

STATUS = {"reproduced": 0, "possible": 0, "differs": 1, "cannot": 3, "undecided": 6}


@click_command(
    api.repro,
    epilog="""\b
Examples:
  assay repro last                               measures it again, and compares
  assay repro last --within 5% --processes 10    undecided, unless precise enough
  assay repro k3fq/002 --check                   what it needs, and what is missing here
  assay repro k3fq/002 --write repro             the lock of its packages, and a Containerfile
  assay repro 7hw3kq2m --from ~/their/run        a repro id, and the folder of the run
  assay repro k3fq/002 --against last/001        whether another result reproduces it""",
)
def command(keywords: Keywords, format: Format = "text") -> int:
    """Measure a stored result again and report whether it is reproduced, or what is missing.

    ID is RUN/001, a run of one result, `last`, or a repro id. Exit status: 0
    reproduced, 1 differs, 3 cannot be measured here, 6 undecided.
    """
    from assay.commands.repro.view import output

    handle_signals()
    line = ProgressLine()
    try:
        reproduction = api.repro(progress=line, **keywords)
    finally:
        line.clear()
    printing.show(output(reproduction), format)
    return STATUS[reproduction.answer]

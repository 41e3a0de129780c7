"""assay perfzero-setup: what `python3 setup.py` was, flag by flag."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import options, printing
from assay.compat.perfzero import setup
from assay.compat.perfzero.cli import old_flag


@click.command(
    epilog="""\b
Examples:
  assay perfzero-setup --tensorflow_pip_spec=tensorflow==2.21.0 --docker_tag=perfzero/tf
  assay perfzero-setup --dockerfile_path=gs://my-bucket/image.tar.gz
  assay perfzero-setup --tensorflow_pip_spec=tf-nightly --dry-run"""
)
@options.decorated(*(old_flag(name, flag) for name, flag in setup.FLAGS.items()))
@click.option("--engine", default="", metavar="docker|podman|buildah", help="assay's own flag.")
@click.option("--dry-run", is_flag=True, help="Print what would be done (assay's own flag).")
def command(engine: str, dry_run: bool, **flags: Any) -> int:  # noqa: ANN401
    """Build or load the image that PerfZero's benchmarks run in; make a drive of local disks."""
    say = printing.put if dry_run else options.say
    seconds = setup.set_up(flags, engine, dry_run, say)
    options.say("Setup time in seconds by operation:")
    printing.put_document(seconds)
    return 0

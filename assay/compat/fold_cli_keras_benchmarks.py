"""assay keras-benchmarks: run_benchmark.py of keras-benchmarks, flag by flag."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from assay.cli import options, printing
from assay.cli.finish import say_uploads
from assay.cli.fold_cli_interrupts import handle_signals
from assay.cli.progress import LiveLine
from assay.commands.run import api
from assay.compat import keras_benchmarks as old
from assay.core.records import Procedure


@click.command(
    epilog="""\b
Example:
  assay keras-benchmarks --mode cpu_config --model_name mnist_mlp --dry_run"""
)
@click.option("--mode", default="cpu_config", show_default=True, help=", ".join(old.MODES))
@click.option("--model_name", default="", help=f"All of them without it: {', '.join(old.MODELS)}")
@options.boolean("--dry_run", help="Print the row and keep nothing.")
@click.option("--keras_backend", default="", help="jax, tensorflow or torch; else KERAS_BACKEND.")
@options.home
def command(mode: str, model_name: str, dry_run: bool, keras_backend: str, home: str | None) -> int:
    """One fit() of four epochs for each model, the first left out; the old table's row as JSON.

    It differs from the old tool in that hardware is detected rather than declared, results are kept
    here rather than uploaded, and a model that fails is reported, with exit status 1.
    """
    handle_signals()
    engine = keras_backend or os.environ.get("KERAS_BACKEND") or "tensorflow"
    line = LiveLine()
    with tempfile.TemporaryDirectory() as spare:
        place = Path(spare) if dry_run else home
        status = 0
        for model in [model_name] if model_name else old.MODELS:
            found = api.run(
                old.case(model, mode, engine),
                procedure=Procedure(timeout=3600),
                home=place,
                progress=line,
            )
            kept = ""
            for result in found:
                line.done(result)
                kept = result.run
                if result.status != "ok":
                    options.say(f"{model}: {result.status}: {result.reason}")
                    status = 1
                else:
                    printing.put_document(old.row(result, model))
            if kept and not dry_run:
                say_uploads(kept, home)
    return status

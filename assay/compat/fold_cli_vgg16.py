"""assay vgg16: main.py of the VGG16 study, flag by flag."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import options, printing
from assay.cli.fold_cli_interrupts import handle_signals
from assay.cli.progress import LiveLine
from assay.commands.run import api
from assay.compat import vgg16 as old


@click.command(
    epilog="""\b
Examples:
  assay vgg16 --run_tensorflow --data_format NHWC --use_XLA --batch_size 16 --n_trials 100
  assay vgg16 --run_keras --keras_backend tensorflow"""
)
@options.boolean("--run_keras", help="Run the Keras benchmark.")
@options.boolean("--run_tensorflow", help="Run the pure TensorFlow benchmark.")
@options.boolean("--run_pytorch", help="Run the pure PyTorch benchmark.")
@click.option("--batch_size", type=int, default=16, show_default=True)
@click.option(
    "--n_trials", type=int, default=100, show_default=True, help="Steps that are timed together."
)
@options.boolean("--use_XLA", "use_xla", help="Use the compiler.")
@click.option("--data_format", default="NHWC", show_default=True, help="NHWC or NCHW.")
@options.boolean("--use_bn", help="Batch normalization after each convolution.")
@options.boolean("--use_fused", help="Fused batch normalization.")
@click.option(
    "--bn_mode",
    type=click.Choice(["0", "2"]),
    default="2",
    help="Mode of batch normalization: 0 or 2.",
)
@click.option("--keras_backend", default="tensorflow", show_default=True)
@click.option(
    "--image_size",
    type=int,
    default=224,
    show_default=True,
    help="Width and height of the pictures (not in the old tool).",
)
@options.home
def command(home: str | None, **given: Any) -> int:  # noqa: ANN401 (click's values)
    """The VGG16 study: the mean of N_TRIALS training steps under one timer.

    It differs from the old tool in data that is not zero, a softmax that is not taken twice, and a
    exit status that shows failure; --keras_backend, which only its README had, works.
    """
    handle_signals()
    line, status = LiveLine(), 0
    for result in api.run(
        *old.cases(given), procedure=old.procedure(given), home=home, progress=line
    ):
        line.done(result)
        printing.put(*old.lines(result))
        status = status if result.status == "ok" else 1
    return status

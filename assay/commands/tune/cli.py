"""assay tune: a network made faster, within a stated loss of accuracy."""

from __future__ import annotations

from typing import Any, get_args

import click

from assay.cli import complete, options, printing
from assay.cli.finish import handle_signals, say_kept
from assay.cli.progress import LiveLine
from assay.commands.tune import api
from assay.native.tuner.records import Objective


@click.command(
    epilog="""\b
Examples:
  assay tune vgg16-cifar10 --max-loss 1.0 --budget 10m
  assay tune ./my.py:MyNet --data my.npz --max-loss 0.5 -o tuned/
  assay tune alexnet2 --batch 64 --objective memory
  assay tune vgg16-cifar10 -o tuned/ --resume
  assay compile vgg16-cifar10 --set weights=trained --config tuned/best.txt -o build/
  assay run vgg16-cifar10@native:config=tuned/best.txt vgg16-cifar10@openvino --mode infer"""
)
@click.argument("model", metavar="MODEL", shell_complete=complete.cases)
@click.option(
    "-o",
    "--output",
    default="tuned",
    show_default=True,
    metavar="FOLDER",
    help="Folder for configurations, JSON and figure.",
)
@click.option(
    "--max-loss",
    type=float,
    default=1.0,
    show_default=True,
    metavar="POINTS",
    help="Points of accuracy that may be lost; kept with a confidence of 95 %.",
)
@click.option("--budget", default="10m", show_default=True, help="Total time.")
@click.option(
    "--data",
    default="",
    metavar="FILE.npz",
    help="Pictures and classes: inputs and labels, or inputs_tune, labels_tune, inputs_test and "
    "labels_test; default: the model's own.",
)
@click.option(
    "--weights",
    default="",
    metavar="FILE",
    help="File of trained weights; default: those beside the data.",
)
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Parameter of MODEL.")
@click.option(
    "--objective",
    type=click.Choice(get_args(Objective)),
    default="time",
    show_default=True,
    help="What to save: time, bytes of weights, or joules.",
)
@click.option(
    "--batch", type=int, default=1, show_default=True, metavar="N", help="Items in one step."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the order of pictures.")
@click.option(
    "--kernels",
    type=click.Choice(["auto", "portable", "onednn"]),
    default="auto",
    show_default=True,
    help="auto: oneDNN, where it is installed, beside our own; portable: our own only.",
)
@click.option("--resume", is_flag=True, help="Continue the interrupted tuning in FOLDER.")
@options.label
@options.home
@options.form
def command(model: str, sets: tuple[str, ...], form: str, **given: Any) -> int:
    """Find the fastest way to compute MODEL that loses at most --max-loss points of accuracy.

    Every layer is given a knob: int8, rows or terms left out, a lower rank, or none. Time is
    measured layer by layer on this machine, the loss on pictures to tune by; the best are confirmed
    on others, and reported on test pictures that nothing was chosen by. Exit status 1: nothing
    faster keeps the promise.
    """
    from assay.commands.tune.view import output

    handle_signals()
    line = LiveLine()
    try:
        found = api.tune(model, params=options.pairs(sets, "--set"), progress=line, **given)
    except KeyboardInterrupt:
        line.say(
            f"to go on: assay tune {model} -o {given['output']} --resume, with the same options"
        )
        raise
    line.clear()
    printing.show(output(found), form)
    options.say(*(f"written: {path}" for path in found.files))
    say_kept(found.run)
    return 0 if found.best.knobs else 1

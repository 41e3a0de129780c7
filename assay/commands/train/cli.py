"""assay train: a network from scratch to its accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assay.cli import complete, options
from assay.cli.finish import show_when_done, status
from assay.cli.progress import LiveLine
from assay.commands.train import api
from assay.core import settings
from assay.core.errors import UsageError
from assay.core.records import Plan, Result
from assay.measure.modes import WEIGHTS
from assay.measure.recorder import resume_cases, run_cases


@click.command(
    epilog="""\b
Examples:
  assay train lenet@keras-tensorflow
  assay train lenet@keras-jax --epochs 2 --first 10000 --seed 1 --save lenet.npz
  assay train vgg16-cifar10@keras-jax:precision=bfloat16 --until 89.96
  assay train examples/my_benchmark.py:Digits@keras-torch
  assay train --resume last"""
)
@click.argument("case", required=False, shell_complete=complete.cases)
@click.option(
    "--recipe",
    default="",
    metavar="NAME|FILE",
    help="Recipe to train by; default: the network's own.",
)
@click.option(
    "--epochs",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Number of epochs; default: the recipe's.",
)
@click.option(
    "--seed",
    type=int,
    default=None,
    metavar="N",
    help="Seed of initial weights, order and augmentation.",
)
@click.option(
    "--save",
    default="",
    metavar="FILE",
    help="Write the trained weights here: .npz, .h5, .weights.h5 or a folder.",
)
@click.option(
    "--until",
    type=click.FloatRange(0, 100),
    default=0.0,
    metavar="%",
    help="Stop when the test accuracy reaches this.",
)
@click.option(
    "--first",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Train on only the first N pictures.",
)
@options.timeout("24h", "the training")
@options.label
@options.tag
@options.resume("Continue an interrupted training from its last checkpoint.")
@options.home
@options.form
def command(case: str | None, resume: str | None, **given: Any) -> int:
    """Train CASE from scratch, test it on the test pictures, and keep its weights and the result.

    An accuracy below what is known of the network is a failure: exit status 1. A training that
    --first or --epochs makes shorter than its recipe is not checked.
    """
    if bool(case) == bool(resume):
        raise UsageError(
            "train takes a case, or --resume with a run, and one of the two.",
            hint="Try: assay train lenet@keras-tensorflow",
        )
    line = LiveLine()
    if resume:
        found = resume_cases(resume, "train", given["home"], line)
    else:
        found = run_cases(_planned(str(case), given), given["home"], line)
    with show_when_done(line, "train", given) as readings:
        for reading in found:
            line.done(reading.result)
            readings.append(reading)
    answer = [_weights(reading.result, settings.runs(given["home"])) for reading in readings]
    options.say(*(line for lines in answer for line in lines))
    unsaved = any("save_problem" in reading.result.facts for reading in readings)
    return 1 if unsaved else status(readings)


def _weights(result: Result, runs: Path) -> list[str]:
    """Where they are now."""
    kept = runs / result.id / WEIGHTS
    problem, saved = result.facts.get("save_problem"), result.facts.get("weights_saved")
    lines = [f"error: {problem}"] if problem else []
    lines += [f"weights: {saved}"] if saved else []
    return lines + ([f"weights: {kept}"] if kept.exists() else [])


def _planned(case: str, given: dict[str, Any]) -> Plan:
    return api.planned(
        case,
        recipe=given["recipe"],
        epochs=given["epochs"],
        seed=given["seed"],
        save=given["save"],
        until=given["until"],
        first=given["first"],
        timeout=given["timeout"],
        label=given["label"],
        tags=options.pairs(given["tags"], "--tag"),
    )

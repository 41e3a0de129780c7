"""assay train: a network from scratch to its accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assay import api, settings, training, units
from assay.cli import options
from assay.cli.progress import LiveLine
from assay.cli.run import carried_out, status
from assay.errors import UsageError
from assay.records import Plan, Result


@click.command(
    epilog="""\b
Examples:
  assay train lenet@keras-tensorflow
  assay train lenet@keras-jax --epochs 2 --first 10000 --seed 1 --save lenet.npz
  assay train vgg16-cifar10@keras-jax:precision=bfloat16 --until 89.96
  assay train examples/my_benchmark.py:Digits@keras-torch
  assay train --resume last"""
)
@click.argument("case", required=False)
@click.option("--recipe", default="", metavar="NAME|FILE", help="Another than the network's own.")
@click.option("--epochs", type=click.IntRange(0), default=0, metavar="N", help="Else the recipe's.")
@click.option("--seed", type=int, default=None, metavar="N", help="Of weights, order and changes.")
@click.option("--save", default="", metavar="FILE", help="For the weights, in any of their forms.")
@click.option(
    "--until",
    type=click.FloatRange(0, 100),
    default=0.0,
    metavar="%",
    help="Stop when so many test pictures are right.",
)
@click.option(
    "--first", type=click.IntRange(0), default=0, metavar="N", help="Training pictures; else all."
)
@click.option("--timeout", default="24h", show_default=True)
@click.option("--label", default="", help="A name to find the result by.")
@options.tag
@click.option("--resume", metavar="RUN", help="Go on with a training that was cut short.")
@options.home
@options.form
def command(case: str | None, resume: str | None, **given: Any) -> int:  # noqa: ANN401
    """Train CASE from scratch, test it on the test pictures, and keep its weights and the result.

    An accuracy below what is known of the network is a failure: exit status 1. A training that
    --first or --epochs makes shorter than its recipe is not held to it.
    """
    if bool(case) == bool(resume):
        raise UsageError(
            "train takes a case, or --resume with a run, and one of the two.",
            hint="Try: assay train lenet@keras-tensorflow",
        )
    line = LiveLine()
    if resume:
        found = api.resume(resume, home=given["home"], watch=line)
    else:
        found = api.measured(_planned(str(case), given), given["home"], line)
    readings = carried_out(found, line, given)
    told = [_weights(reading.result, settings.home(given["home"])) for reading in readings]
    options.say(*(line for lines in told for line in lines))
    unsaved = any("save_problem" in reading.result.facts for reading in readings)
    return 1 if unsaved else status(readings)


def _weights(result: Result, home: Path) -> list[str]:
    """Where they are now."""
    kept = home / "runs" / result.id / training.WEIGHTS
    problem, saved = result.facts.get("save_problem"), result.facts.get("weights_saved")
    lines = [f"error: {problem}"] if problem else []
    lines += [f"weights: {saved}"] if saved else []
    return lines + ([f"weights: {kept}"] if kept.exists() else [])


def _planned(case: str, given: dict[str, Any]) -> Plan:
    return training.planned(
        case,
        recipe=given["recipe"],
        epochs=given["epochs"],
        seed=given["seed"],
        save=given["save"],
        until=given["until"],
        first=given["first"],
        timeout=units.seconds(given["timeout"]),
        label=given["label"],
        tags=options.pairs(given["tags"], "--tag"),
    )

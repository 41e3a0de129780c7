"""assay train: train a network from scratch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from assay.cli import options
from assay.cli.command import Keywords, click_command
from assay.cli.finish import show_when_done, status
from assay.cli.progress import ProgressLine
from assay.commands.train import api
from assay.core import settings
from assay.core.errors import UsageError
from assay.core.options import Argument, Flag, Format
from assay.core.records import Result
from assay.measure.modes import WEIGHTS
from assay.measure.recorder import resume_cases, run_cases


@click_command(
    api.train,
    without=("store",),
    epilog="""\b
Examples:
  assay train lenet@keras-tensorflow
  assay train lenet@keras-jax --epochs 2 --first 10000 --seed 1 --save lenet.npz
  assay train vgg16-cifar10@keras-jax:precision=bfloat16 --until 89.96
  assay train examples/my_benchmark.py:Digits@keras-torch
  assay train --resume last""",
)
def command(
    keywords: Keywords,
    case: Annotated[str, Argument(complete="cases")] = "",
    *,
    resume: Annotated[
        str,
        Flag(
            "Continue an interrupted training from its last checkpoint.",
            "RUN",
            complete="runs",
        ),
    ] = "",
    store: str | None,
    format: Format = "text",
) -> int:
    """Train CASE from scratch, test it on the test images, and store its weights and the result.

    An accuracy below the expected one of the network is a failure: exit status 1. A training that
    --first or --epochs makes shorter than its recipe is not checked.
    """
    if bool(case) == bool(resume):
        raise UsageError(
            "train takes a case, or --resume with a run, and one of the two.",
            hint="Try: assay train lenet@keras-tensorflow",
        )
    line = ProgressLine()
    if resume:
        cases = resume_cases(resume, "train", store, line)
    else:
        cases = run_cases(api.make_plan(case, **keywords), store, line)
    with show_when_done(line, "train", store, format) as readings:
        for reading in cases:
            line.done(reading.result)
            readings.append(reading)
    answer = [_weights(reading.result, settings.runs(store)) for reading in readings]
    options.print_message(*(line for lines in answer for line in lines))
    unsaved = any("save_problem" in reading.result.facts for reading in readings)
    return 1 if unsaved else status(readings)


def _weights(result: Result, runs: Path) -> list[str]:
    """Where they are now."""
    path = runs / result.id / WEIGHTS
    problem, saved = result.facts.get("save_problem"), result.facts.get("weights_saved")
    lines = [f"error: {problem}"] if problem else []
    lines += [f"weights: {saved}"] if saved else []
    return lines + ([f"weights: {path}"] if path.exists() else [])

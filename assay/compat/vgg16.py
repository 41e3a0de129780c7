"""The VGG16 study of 2017: the flags of its main.py as cases of assay, and what it printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from assay.cli import options, printing
from assay.cli.finish import handle_signals
from assay.cli.progress import ProgressLine
from assay.commands.run import api
from assay.core.errors import UsageError
from assay.core.records import Procedure, Result

LAYOUTS = {"NHWC": "channels_last", "NCHW": "channels_first"}


def cases(given: Mapping[str, Any]) -> list[str]:
    """The cases the old command line meant, in its order: Keras, TensorFlow, PyTorch."""
    _check(given)
    layout = f"data_format={LAYOUTS[given['data_format']]}"
    compiled = f"compiler={'on' if given['use_xla'] else 'off'}"
    found = []
    if given["run_keras"]:
        found.append(f"{_workload(given)}@keras-{given['keras_backend']}:{layout}")
    if given["run_tensorflow"]:
        found.append(f"{_workload(given)}@tensorflow:{layout},{compiled}")
    if given["run_pytorch"]:
        found.append(f"{_workload(given)}@torch:{layout},{compiled}")
    return found


def procedure(given: Mapping[str, Any]) -> Procedure:
    """One timer around all trials, as it was."""
    return Procedure(samples=1, steps_per_sample=given["n_trials"], timeout=3600)


def lines(result: Result) -> Iterator[str]:
    """What main.py printed, and what it did not: that a case failed, and why."""
    yield f"{result.case.key}"
    used = str(result.case.backend).split("-")  # torch, tensorflow, or keras and its engine
    for name in sorted(result.environment.packages):
        if name.replace("-", "_").removesuffix("_cpu") in used:
            yield f"{name} version: {result.environment.packages[name]}"
    times = result.values("step_time")
    if times:
        yield f"Mean Time per update: {1e3 * sum(times) / len(times):7.3f} ms"
    else:
        yield f"{result.status}: {result.reason}"


def _workload(given: Mapping[str, Any]) -> str:
    norm = f",bn=mode{given['bn_mode']}" if given["use_bn"] else ""
    fused = ",fused=true" if given["use_fused"] else ""
    size = f"batch_size={given['batch_size']},image_size={given['image_size']}"
    return f"vgg16:{size}{norm}{fused}"


def _check(given: Mapping[str, Any]) -> None:
    if given["n_trials"] < 1:
        raise UsageError(
            f"--n_trials is {given['n_trials']}, but has to be 1 or more.",
            hint="100 is the default.",
        )
    if given["data_format"] not in LAYOUTS:
        raise UsageError(
            f"--data_format is '{given['data_format']}', but has to be NHWC or NCHW.",
            hint="NHWC is channels last, NCHW channels first.",
        )
    if given["use_fused"] and not given["use_bn"]:
        raise UsageError(
            "--use_fused was given without --use_bn, which the old tool passed over in silence.",
            hint="Add --use_bn, or leave --use_fused out.",
        )
    if not (given["run_keras"] or given["run_tensorflow"] or given["run_pytorch"]):
        raise UsageError(
            "None of --run_keras, --run_tensorflow and --run_pytorch was given.",
            hint="Try: assay vgg16 --run_keras --keras_backend jax",
        )


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
    help="Width and height of the images (not in the old tool).",
)
@options.home
def command(home: str | None, **given: Any) -> int:
    """The VGG16 study: the mean of N_TRIALS training steps under one timer.

    It differs from the old tool in data that is not zero, a softmax that is not taken twice, and a
    exit status that shows failure; --keras_backend, which only its README had, works.
    """
    handle_signals()
    line, status = ProgressLine(), 0
    for result in api.run(*cases(given), procedure=procedure(given), store=home, progress=line):
        line.done(result)
        printing.put(*lines(result))
        status = status if result.status == "ok" else 1
    return status

"""assay run: measure."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from assay.cli import complete, options, printing
from assay.cli.finish import handle_signals, show_when_done, status, unfair_sentences
from assay.cli.progress import LiveLine
from assay.core.errors import UsageError
from assay.core.findings import Reading
from assay.core.records import Query
from assay.measure.plan import make_plan
from assay.measure.recorder import resume_cases, run_cases
from assay.measure.remote import executor
from assay.reporting.timings import check_columns

# Flags that stand for a parameter of the workload or an option of the backend; commas make a sweep.
PARAMS = {
    "batch_size": "Items in one step; max searches for the largest batch that fits.",
    "task": "Of transformer-decoder: train, generate.",
    "seed": "Seed of the weights and the data.",
}
OPTIONS = {
    "mode": "Training steps or inference: train, infer.",
    "precision": "Arithmetic: float32, tf32, bfloat16, float16, pure-bfloat16.",
    "compiler": "off, on (XLA or torch.compile), or a mode of torch.compile.",
    "cuda_graphs": "Replay steps as a CUDA graph (torch): off, on.",
    "data_format": "Layout of pictures: channels_last, channels_first.",
    "optimizer": "own (the workload's), sgd, momentum, rmsprop, adam.",
    "threads": "CPU threads: a number, or all.",
    "device": "Where to run: auto, cpu, gpu:N.",
    "devices": "How many devices share each training batch.",
    "python": "Virtual environment or interpreter to measure in.",
    "method": "Keras only: time single steps (step) or one call of fit() (fit).",
    "epochs": "With --method fit: number of epochs.",
}

PROCEDURE = (
    *("budget", "target", "timeout", "processes", "samples", "steps_per_sample", "latency"),
    "communication",
)


def _flag(name: str, line: str) -> Any:
    return click.option(
        f"--{name.replace('_', '-')}",
        name,
        metavar="A,B",
        help=line,
        shell_complete=complete.values(name),
    )


@click.command(
    epilog="""\b
Examples:
  assay run mnist-mlp                                every backend installed
  assay run mnist-mlp -b keras-jax --batch-size 32 --budget 10s --label first-try
  assay run mnist-mlp@keras-jax:precision=bfloat16 --set units=512,1024
  assay run mnist-mlp@keras-jax --processes 5 --target 1%
  assay run ./my.py:MyNet -b keras-jax --mode infer --latency
  assay run transformer-decoder -b torch,jax --task generate --set prompt=32,512
  assay run --suite keras-benchmarks -b keras-jax,keras-torch
  assay run --suite accuracy --first 500
  assay run mnist-mlp -b torch --in assay/torch:2.13
  assay run --suite keras-benchmarks --on ray://HOST:10001
  assay run resnet50@torch --on ray --need gpus=1,accelerator=H100
  assay run --plan plan.toml --every night
  assay run --resume last"""
)
@click.argument("cases", nargs=-1, metavar="CASE…", shell_complete=complete.cases)
@click.option(
    "--suite",
    default="",
    metavar="NAME",
    shell_complete=complete.suites,
    help="Measure a named set of cases: keras-benchmarks, today or accuracy.",
)
@click.option(
    "--first",
    type=int,
    default=0,
    metavar="N",
    help="With --suite accuracy: evaluate only the first N pictures.",
)
@click.option(
    "--plan",
    default="",
    metavar="FILE",
    help="Carry out a plan file: cases, procedure, check and alerts are in it.",
)
@click.option(
    "--every",
    default="",
    metavar="hour|night|week",
    help="With --plan: how often it is scheduled, so that one that was missed is a finding.",
)
@click.option(
    "--in", "image", default="", metavar="IMAGE", help="Measure inside a container image."
)
@click.option(
    "--mount",
    "mounts",
    multiple=True,
    metavar="FOLDER:PLACE[:ro]",
    help="With --in: a folder that the container sees; repeatable.",
)
@options.cluster
@options.backends
@options.params
@options.backend_options
@options.decorated(*(_flag(name, line) for name, line in (PARAMS | OPTIONS).items()))
@click.option("--budget", default="10s", show_default=True, help="Sampling time per case.")
@click.option(
    "--target",
    default="1%",
    show_default=True,
    help="Stop when the 95 % interval is within this share of the median.",
)
@options.timeout("10m", "one case, start-up included")
@click.option(
    "--processes",
    type=int,
    default=1,
    show_default=True,
    help="Fresh processes per case; with several, the interval covers their differences.",
)
@click.option("--samples", type=int, default=0, help="Take exactly this many samples per process.")
@click.option(
    "--steps-per-sample", type=int, default=0, help="Time exactly this many steps per sample."
)
@click.option("--latency", is_flag=True, help="Time each step by itself, and show percentiles.")
@options.communication
@options.strict
@options.trust
@options.label
@options.tag
@options.resume("Continue an interrupted run.")
@options.columns
@options.home
@options.form
def command(cases: tuple[str, ...], resume: str | None, **given: Any) -> int:
    """Measure CASE… and keep the results.

    A case is WORKLOAD[:k=v,…][@BACKEND[:k=v,…]]. Without a backend, every installed one that can
    open the workload is used. A flag with several values, a,b, makes a sweep.
    """
    if given["image"]:
        return _in_image(given)
    if given["plan"]:
        return _plan(given["plan"], (*cases, *((resume,) if resume else ())), given)
    line = LiveLine()
    check_columns(options.values(given["columns"]) if given["columns"] else ())
    if resume and (cases or given["suite"]):
        raise UsageError(
            f"--resume was given with {' '.join(cases) or given['suite']}.",
            hint="A run has its own cases; name none.",
        )
    if resume:
        machines = executor(given["on"], options.needs(given))
        found = resume_cases(resume, "run", given["home"], line, machines)
    elif cases or given["suite"]:
        found = _run(cases, given, line)
    else:
        raise UsageError("No case was given.", hint="Try: assay run mnist-mlp")
    with show_when_done(line, "run", given) as readings:
        for reading in found:
            line.done(reading.result)
            readings.append(reading)
    if resume and not readings:
        options.say(f"Nothing was left to measure; to see it: assay show {resume}")
    return 1 if given["strict"] and unfair_sentences(readings) else status(readings)


def _in_image(given: dict[str, Any]) -> int:
    """The same words again, there; the store here is the store there."""
    from assay.commands.image import run_image

    words = sys.argv[1:]
    inner, skip = ["assay"], False
    for word in words:
        if not skip and not word.startswith(("--in=", "--mount=", "--home=")):
            skip = word in ("--in", "--mount", "--home")
            inner += [] if skip else [word]
        else:
            skip = False
    gpus = "gpu" in (given["device"] or "")
    return run_image(given["image"], inner, given["mounts"], gpus, home=given["home"])


def _plan(path: str, more: tuple[str, ...], given: dict[str, Any]) -> int:
    """All of it is in the file: what else was typed would not be heard."""
    from assay.commands.schedule.run_plan import run_plan
    from assay.commands.schedule.view import output
    from assay.stores.read import readings

    context = click.get_current_context()
    heard = {"plan", "every", "home", "form"}
    typed = [
        f"--{name.replace('_', '-')}"
        for name in given
        if name not in heard and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if more or typed:
        raise UsageError(
            f"--plan was given with {' '.join((*more, *typed))}.",
            hint="What is measured, and how, is in the plan file.",
        )
    handle_signals()
    line = LiveLine()
    night = run_plan(path, given["every"], given["home"], line, line.done)
    line.clear()
    kept = readings(Query(ids=night.runs), given["home"]) if night.runs else []
    printing.show(output(night, kept), given["form"])
    return night.status


def _run(cases: tuple[str, ...], given: dict[str, Any], line: LiveLine) -> Iterator[Reading]:
    params = {name: given[name] for name in PARAMS if given[name]}
    choices = {name: given[name] for name in OPTIONS if given[name]}
    params |= options.pairs(given["sets"], "--set")
    choices |= options.pairs(given["extra"], "--option")
    plan = make_plan(
        *cases,
        suite=given["suite"],
        backends=options.several(given["backends"]),
        params=options.axes(params),
        options=options.axes(choices),
        **{name: given[name] for name in PROCEDURE},
        label=given["label"],
        tags=options.pairs(given["tags"], "--tag"),
        first=given["first"],
        trust=given["trust"],
    )
    return run_cases(plan, given["home"], line, executor(given["on"], options.needs(given)))

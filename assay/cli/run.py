"""assay run: measure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from assay import api, settings, units
from assay.cli import options
from assay.cli.ending import heed_signals
from assay.cli.output import print_readings
from assay.cli.progress import LiveLine
from assay.errors import UsageError
from assay.findings import Reading
from assay.records import Procedure, Result

BAD = {"failed", "crashed", "timeout", "out-of-memory"}

# Flags that stand for a parameter of the workload or an option of the backend; commas make a sweep.
PARAMS = {
    "batch_size": "Items in one step, or max: the most that fit.",
    "seed": "Of weights and data.",
}
OPTIONS = {
    "mode": "train or infer.",
    "precision": "float32, tf32, bfloat16, float16, pure-bfloat16.",
    "compiler": "off or on (XLA, torch.compile), or a mode of torch.compile.",
    "cuda_graphs": "off or on (torch).",
    "data_format": "channels_last or channels_first.",
    "optimizer": "own, sgd, momentum, rmsprop, adam.",
    "threads": "all, or how many.",
    "device": "auto, cpu or gpu:N.",
    "python": "Another virtual environment to measure in.",
    "method": "step or fit (Keras).",
    "epochs": "Of fit.",
}


def _flag(name: str, line: str) -> Any:  # noqa: ANN401 (a click decorator)
    return click.option(f"--{name.replace('_', '-')}", name, metavar="A,B", help=line)


@click.command(
    epilog="""\b
Examples:
  assay run mnist-mlp                                every backend installed
  assay run mnist-mlp -b keras-jax --batch-size 32 --budget 10s --label first-try
  assay run mnist-mlp@keras-jax:precision=bfloat16 --set units=512,1024
  assay run mnist-mlp@keras-jax --processes 5 --target 1%
  assay run ./my.py:MyNet -b keras-jax --mode infer --latency
  assay run --suite keras-benchmarks -b keras-jax,keras-torch
  assay run --suite accuracy --first 500
  assay run --resume last"""
)
@click.argument("cases", nargs=-1, metavar="CASE…")
@click.option("--suite", default="", metavar="NAME", help="keras-benchmarks, today or accuracy.")
@click.option(
    "--first", type=int, default=0, metavar="N", help="Pictures of each net of --suite accuracy."
)
@click.option("-b", "--backend", "backends", multiple=True, help="May be repeated; commas too.")
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=A,B", help="Parameters of the workload."
)
@click.option(
    "--option", "extra", multiple=True, metavar="NAME=A,B", help="Options of the backend."
)
@options.decorated(*(_flag(name, line) for name, line in (PARAMS | OPTIONS).items()))
@click.option("--budget", default="10s", show_default=True, help="Sampling time for one case.")
@click.option(
    "--target", default="1%", show_default=True, help="Half-width of the interval to reach."
)
@click.option("--timeout", default="10m", show_default=True, help="For one whole case.")
@click.option(
    "--processes",
    type=int,
    default=1,
    show_default=True,
    help="Fresh processes for each case; the interval is then over processes.",
)
@click.option("--samples", type=int, default=0, help="Exactly so many samples in each process.")
@click.option("--steps-per-sample", type=int, default=0, help="Exactly so many steps in a sample.")
@click.option("--latency", is_flag=True, help="Time every single step.")
@click.option("--strict", is_flag=True, help="Refuse contenders that do not do the same work.")
@click.option("--label", default="", help="A name to find these results by.")
@options.tag
@click.option("--resume", metavar="RUN", help="Go on with an interrupted run.")
@options.home
@options.form
def command(cases: tuple[str, ...], resume: str | None, **given: Any) -> int:  # noqa: ANN401
    """Measure CASE… and keep the results.

    A case is WORKLOAD[:k=v,…][@BACKEND[:k=v,…]]. Without a backend, every installed one that can
    open the workload is taken. A flag with several values, a,b, makes a sweep.
    """
    line = LiveLine()
    if resume and cases:
        raise UsageError(
            f"--resume was given with {' '.join(cases)}.",
            hint="A run has its own cases; name none.",
        )
    if resume:
        found = api.resume(resume, home=given["home"], watch=line)
    elif cases or given["suite"]:
        found = _run(cases, given, line)
    else:
        raise UsageError("No case was given.", hint="Try: assay run mnist-mlp")
    readings = carried_out(found, line, given)
    if resume and not readings:
        options.say(f"Nothing was left to measure; to see it: assay show {resume}")
    return 1 if given["strict"] and unfair_sentences(readings) else status(readings)


def carried_out(found: Iterator[Result], line: LiveLine, given: dict[str, Any]) -> list[Reading]:
    """Every result as it comes, then the table of them, also when they were cut short."""
    heed_signals()
    readings: list[Reading] = []
    unfair: list[str] = []
    try:
        for result in _announced(found, line):
            readings.append(Reading(result=result, summary=api.summarize(result)))
    finally:
        unfair += unfair_sentences(readings) if given.get("strict") else []
        _finish(readings, "" if unfair else given["form"], settings.home(given["home"]))
    options.say(*unfair)
    return readings


def _run(cases: tuple[str, ...], given: dict[str, Any], line: LiveLine) -> Iterator[Result]:
    params = {name: given[name] for name in PARAMS if given[name]}
    choices = {name: given[name] for name in OPTIONS if given[name]}
    params |= options.pairs(given["sets"], "--set")
    choices |= options.pairs(given["extra"], "--option")
    return api.run(
        *cases,
        suite=given["suite"],
        backends=[name for text in given["backends"] for name in options.values(text)],
        params={name: options.values(text) for name, text in params.items()},
        options={name: options.values(text) for name, text in choices.items()},
        procedure=Procedure(
            budget=units.seconds(given["budget"]),
            target=units.share(given["target"]),
            timeout=units.seconds(given["timeout"]),
            processes=given["processes"],
            samples=given["samples"],
            steps_per_sample=given["steps_per_sample"],
            latency=given["latency"],
        ),
        label=given["label"],
        tags=options.pairs(given["tags"], "--tag"),
        home=given["home"],
        watch=line,
        first=given["first"],
    )


def _announced(found: Iterator[Result], line: LiveLine) -> Iterator[Result]:
    for result in found:
        line.done(result)
        yield result


def _finish(readings: list[Reading], form: str, home: Path) -> None:
    """The table of what was measured, also when the run was cut short; none without a form."""
    if not readings:
        return
    run = readings[0].result.run
    if form:
        print_readings(readings, form)
    for reading in readings:
        if reading.result.status in BAD:
            options.say(f"what it printed: {home / 'runs' / reading.result.id / 'worker.log'}")
    if any(reading.result.status == "interrupted" for reading in readings):
        verb = "train" if "recipe" in readings[0].result.facts else "run"
        options.say(f"kept as {run}; to go on: assay {verb} --resume {run}")
    else:
        options.say(f"kept as {run}; to see it again: assay show {run}")


def unfair_sentences(readings: list[Reading]) -> list[str]:
    """What --strict refuses, one sentence each."""
    found = api.fairness(reading.result for reading in readings)
    return [f"refused: {one.workload}: {one.text}." for one in found if one.unfair]


def status(readings: list[Reading]) -> int:
    statuses = {reading.result.status for reading in readings}
    broken = any(c.verdict == "fail" for reading in readings for c in reading.summary.checks)
    if statuses & BAD or broken:
        return 1
    return 3 if statuses == {"skipped"} else 0

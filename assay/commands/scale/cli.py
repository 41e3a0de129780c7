"""assay scale: training on several numbers of devices."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import complete, options, printing
from assay.cli.finish import handle_signals, say_kept, status
from assay.cli.progress import LiveLine
from assay.commands.scale import api
from assay.commands.scale.view import output
from assay.core.errors import UsageError
from assay.measure.recorder import resume_cases, run_cases


@click.command(
    epilog="""\b
Examples:
  assay scale resnet50@torch --devices 1,2,4
  assay scale resnet50@keras-jax:precision=bfloat16 --devices 1,8 --budget 30s
  assay scale mnist-mlp@jax --devices 1,2 --strong --format json
  assay scale mnist-mlp@torch --devices 1,2 --communication
  assay scale --resume last"""
)
@click.argument("case", required=False, metavar="CASE", shell_complete=complete.cases)
@click.option("--devices", default="1,2,4", show_default=True, metavar="A,B", help="How many.")
@click.option(
    "--strong",
    is_flag=True,
    help="Share one batch by all devices; else each has a batch of its own.",
)
@click.option("--budget", default="10s", show_default=True, help="Sampling time per case.")
@options.timeout("10m", "one case, start-up included")
@click.option("--processes", type=int, default=1, show_default=True, help="Fresh starts per case.")
@options.communication
@options.trust
@options.label
@options.tag
@options.resume("Continue an interrupted one.")
@options.home
@options.form
def command(case: str | None, resume: str | None, **given: Any) -> int:
    """Train CASE on several numbers of devices: throughput, and efficiency against one device.

    The framework's own data parallelism is used: DistributedDataParallel, JAX sharding,
    tf.distribute, Keras' distribution. On a CPU the devices are processes or virtual ones.
    """
    if bool(case) == bool(resume):
        raise UsageError(
            "scale takes one case, or --resume with a run, and one of the two.",
            hint="Try: assay scale mnist-mlp@jax --devices 1,2",
        )
    handle_signals()
    line = LiveLine()
    if resume:
        found = resume_cases(resume, "scale", given["home"], line)
    else:
        plan = api.planned(
            str(case),
            _numbers(given["devices"]),
            given["strong"],
            trust=given["trust"],
            label=given["label"],
            tags=options.pairs(given["tags"], "--tag"),
            **{name: given[name] for name in ("budget", "timeout", "processes", "communication")},
        )
        found = run_cases(plan, given["home"], line)
    run = resume or ""
    for one in found:
        line.done(one.result)
        run = one.result.run
    line.clear()
    readings = api.kept(run, given["home"])
    printing.show(output(api.points(readings), readings), given["form"])
    say_kept(readings[0].result.run)
    return status(readings)


def _numbers(text: str) -> list[int]:
    parts = options.values(text)
    if not all(part.isascii() and part.isdecimal() and len(part) < 6 for part in parts):
        raise UsageError(f"--devices got '{text}', but takes numbers.", hint="--devices 1,2,4")
    return [int(part) for part in parts]

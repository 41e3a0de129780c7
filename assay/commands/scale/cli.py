"""assay scale: training on several numbers of devices."""

from __future__ import annotations

from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import handle_signals, print_saved, status
from assay.cli.progress import ProgressLine
from assay.commands.scale import api
from assay.commands.scale.view import output
from assay.core.errors import UsageError
from assay.core.options import Argument, Flag, Format
from assay.measure import inputs
from assay.measure.recorder import resume_cases, run_cases


@click_command(
    api.scale,
    without=("store", "budget", "timeout", "processes", "communication"),
    epilog="""\b
Examples:
  assay scale resnet50@torch --devices 1,2,4
  assay scale resnet50@keras-jax:precision=bfloat16 --devices 1,8 --budget 30s
  assay scale mnist-mlp@jax --devices 1,2 --strong --format json
  assay scale mnist-mlp@torch --devices 1,2 --communication
  assay scale --resume last""",
)
def command(
    keywords: Keywords,
    case: Annotated[str, Argument("CASE", complete="cases")] = "",
    *,
    devices: Annotated[str, Flag("How many.", "A,B")] = "1,2,4",
    resume: Annotated[str, Flag("Continue an interrupted one.", "RUN", complete="runs")] = "",
    budget: str,
    timeout: str,
    processes: int,
    communication: bool,
    store: str | None,
    format: Format = "text",
) -> int:
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
    line = ProgressLine()
    if resume:
        results = resume_cases(resume, "scale", store, line)
    else:
        parts = {"budget": budget, "timeout": timeout, "processes": processes}
        procedure = inputs.procedure(None, {**parts, "communication": communication})
        plan = api.make_scale_plan(case, _numbers(devices), procedure=procedure, **keywords)
        results = run_cases(plan, store, line)
    run = resume
    for reading in results:
        line.done(reading.result)
        run = reading.result.run
    line.clear()
    readings = api.load_scaling(run, store)
    printing.show(output(api.scaling_points(readings), readings), format)
    print_saved(readings[0].result.run)
    return status(readings)


def _numbers(text: str) -> list[int]:
    parts = options.values(text)
    if not all(part.isascii() and part.isdecimal() and len(part) < 6 for part in parts):
        raise UsageError(f"--devices got '{text}', but takes numbers.", hint="--devices 1,2,4")
    return [int(part) for part in parts]

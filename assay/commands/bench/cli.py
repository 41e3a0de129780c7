"""assay bench: benchmark classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from assay.cli import options
from assay.cli.command import Keywords, click_command
from assay.commands.bench import api
from assay.core.options import Argument, Format
from assay.formats.perfzero.names import Method

if TYPE_CHECKING:
    from assay.core.records import Result


@click.group(
    epilog="""\b
Examples:
  assay bench run my_pkg.resnet_benchmark.Resnet.benchmark_1_gpu
  assay bench diff before after"""
)
def command() -> None:
    """Run benchmark classes: tf.test.Benchmark, assay.Benchmark, or any with benchmark methods."""


@click_command(
    api.bench,
    group=command,
    epilog="""\b
Examples:
  assay bench run my_pkg.resnet_benchmark.Resnet.benchmark_1_gpu
  assay bench run 'my_pkg.resnet_benchmark.Resnet.filter:benchmark_.*' --trials 5 --label before""",
)
def run(
    methods: Annotated[tuple[str, ...], Argument("METHOD…", required=True)],
    keywords: Keywords,
    *,
    store: str | None,
    format: Format = "text",
) -> int:
    """Run METHOD…, each in a fresh process, and keep the results.

    METHOD is module.Class.method, module.Class:method.with.dots or module.Class.filter:REGEX.
    """
    from assay.cli.finish import handle_signals, print_uploads, status_of
    from assay.core import settings

    trials = api.bench(*methods, **keywords, progress=print_trial)
    handle_signals()
    results: list[Result] = []
    try:
        for benched in trials:
            results.append(benched.result)
    finally:
        if results:
            _show(results, format, settings.runs(store))
            print_uploads(results[0].run, store)
    return status_of(results)


@click_command(
    api.bench_differences, group=command, epilog="\b\nExample:\n  assay bench diff before after"
)
def diff(
    first: Annotated[str, Argument()],
    second: Annotated[str, Argument()],
    keywords: Keywords,
    *,
    format: Format = "text",
) -> int:
    """Compare the results of two labels.

    All trials of each count; the ratio is SECOND over FIRST. This is assay compare --metric all, of
    benchmark methods alone.
    """
    from assay.cli import printing
    from assay.commands.compare.view import output

    printing.show(output(api.bench_differences(first, second, **keywords)), format)
    return 0


def print_trial(method: Method, trial: int) -> None:
    options.print_message(f"{method.name}  trial {trial} …")


def _show(results: list[Result], format: str, runs: Path) -> None:
    from assay.cli import printing
    from assay.cli.finish import print_logs, print_saved
    from assay.commands.bench import view

    printing.show(view.output(results, api.summarize_trials(results)), format)
    print_logs(results, runs)
    traces = runs / results[0].run
    if any(traces.glob("*/output/profiler_data")):
        options.print_message(f"traces: {traces}/*/output/profiler_data")
    print_saved(results[0].run)

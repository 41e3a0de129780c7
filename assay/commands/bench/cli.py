"""assay bench: benchmark classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assay.cli import options, printing
from assay.cli.finish import handle_signals, print_logs, print_saved, print_uploads, status_of
from assay.commands.bench import api as verb
from assay.commands.bench import view
from assay.commands.compare.view import output as differences_output
from assay.core import settings, units
from assay.core.records import Result
from assay.formats.perfzero import windows
from assay.formats.perfzero.construct import read_arguments
from assay.formats.perfzero.messages import BenchSetting
from assay.formats.perfzero.names import Method


@click.group(
    epilog="""\b
Examples:
  assay bench run my_pkg.resnet_benchmark.Resnet.benchmark_1_gpu
  assay bench diff before after"""
)
def command() -> None:
    """Run benchmark classes: tf.test.Benchmark, assay.Benchmark, or any with benchmark methods."""


@command.command(
    epilog="""\b
Examples:
  assay bench run my_pkg.resnet_benchmark.Resnet.benchmark_1_gpu
  assay bench run 'my_pkg.resnet_benchmark.Resnet.filter:benchmark_.*' --trials 5 --label before"""
)
@click.argument("methods", nargs=-1, required=True, metavar="METHOD…")
@click.option(
    "--trials", type=int, default=1, show_default=True, help="Fresh processes per method."
)
@options.timeout("1h", "one run of one method")
@click.option("--python", default="", help="Virtual environment or interpreter to run in.")
@click.option(
    "--python-path",
    "paths",
    multiple=True,
    metavar="FOLDER",
    help="Folder to import from; repeatable.",
)
@click.option(
    "--data-dir", default="/data", show_default=True, help="Passed to the class as root_data_dir."
)
@click.option(
    "--constructor-args", default="", metavar="JSON", help="Additional constructor arguments."
)
@click.option("--plain", is_flag=True, help="Pass only --constructor-args to the constructor.")
@click.option(
    "--profile",
    default="",
    metavar="BEGIN:END,…",
    help="Windows to profile, in seconds after the method began.",
)
@options.label
@options.tag
@options.home
@options.form
def run(methods: tuple[str, ...], **given: Any) -> int:
    """Run METHOD…, each in a fresh process, and keep the results.

    METHOD is module.Class.method, module.Class:method.with.dots or module.Class.filter:REGEX.
    """
    found = verb.bench(
        *methods,
        setting=_setting(given),
        trials=given["trials"],
        label=given["label"],
        tags=options.pairs(given["tags"], "--tag"),
        home=given["home"],
        progress=print_trial,
    )
    handle_signals()
    results: list[Result] = []
    try:
        for benched in found:
            results.append(benched.result)
    finally:
        if results:
            _show(results, given["form"], settings.runs(given["home"]))
            print_uploads(results[0].run, given["home"])
    return status_of(results)


@command.command(epilog="\b\nExample:\n  assay bench diff before after")
@click.argument("first")
@click.argument("second")
@options.home
@options.form
def diff(first: str, second: str, home: str | None, form: str) -> int:
    """Compare the results of two labels.

    All trials of each count; the ratio is SECOND over FIRST. This is assay compare --metric all, of
    benchmark methods alone.
    """
    found = verb.bench_differences(first, second, home)
    printing.show(differences_output(found), form)
    return 0


def print_trial(method: Method, trial: int) -> None:
    options.print_message(f"{method.name}  trial {trial} …")


def _setting(given: dict[str, Any]) -> BenchSetting:
    return BenchSetting(
        python=given["python"],
        python_path=tuple(str(Path(path).absolute()) for path in given["paths"]),
        root_data_dir=given["data_dir"],
        constructor_args=read_arguments(given["constructor_args"], "--constructor-args"),
        plain=given["plain"],
        windows=windows.parse(given["profile"]),
        timeout=units.seconds(given["timeout"]),
    )


def _show(results: list[Result], form: str, runs: Path) -> None:
    printing.show(view.output(results, verb.summarize_trials(results)), form)
    print_logs(results, runs)
    traces = runs / results[0].run
    if any(traces.glob("*/output/profiler_data")):
        options.print_message(f"traces: {traces}/*/output/profiler_data")
    print_saved(results[0].run)

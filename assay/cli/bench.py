"""assay bench: benchmark classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assay import benching, codec, settings, units
from assay.benches import windows
from assay.benches.asked import Setting
from assay.benches.construct import read_arguments
from assay.benches.names import Method
from assay.cli import options
from assay.cli.ending import heed_signals
from assay.cli.output import print_table
from assay.cli.run import BAD
from assay.records import SCHEMA, Result
from assay.views import benches


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
@click.option("--trials", type=int, default=1, show_default=True, help="Fresh processes for each.")
@click.option("--timeout", default="1h", show_default=True, help="For one method, once.")
@click.option("--python", default="", help="Another virtual environment to run in.")
@click.option("--python-path", "paths", multiple=True, metavar="FOLDER", help="May be repeated.")
@click.option("--data-dir", default="/data", show_default=True, help="Told to the class.")
@click.option("--constructor-args", default="", metavar="JSON", help="More for the constructor.")
@click.option("--plain", is_flag=True, help="Construct with --constructor-args alone.")
@click.option("--profile", default="", metavar="BEGIN:END,…", help="Seconds to be profiled.")
@click.option("--label", default="", help="A name to find these results by.")
@options.tag
@options.home
@options.form
def run(methods: tuple[str, ...], **given: Any) -> int:  # noqa: ANN401 (click's values)
    """Run METHOD…, each in a fresh process, and keep the results.

    METHOD is module.Class.method, module.Class:method.with.dots or module.Class.filter:REGEX.
    """
    found = benching.bench(
        *methods,
        setting=_setting(given),
        trials=given["trials"],
        label=given["label"],
        tags=options.pairs(given["tags"], "--tag"),
        home=given["home"],
        watch=announce,
    )
    heed_signals()
    results: list[Result] = []
    try:
        for benched in found:
            results.append(benched.result)
    finally:
        if results:
            _show(results, given["form"], settings.home(given["home"]))
    return status(results)


@command.command(epilog="\b\nExample:\n  assay bench diff before after")
@click.argument("first")
@click.argument("second")
@options.home
@options.form
def diff(first: str, second: str, home: str | None, form: str) -> int:
    """Compare what two labels gave, over all their trials; the ratio is SECOND over FIRST."""
    found = benching.bench_differences(first, second, home)
    if form == "json":
        document = {"schema": SCHEMA, "kind": "differences", "differences": found}
        click.echo(codec.encode(document, indent=2))
    else:
        print_table(benches.differences_table(found, first, second), form)
    return 0


def announce(method: Method, trial: int) -> None:
    options.say(f"{method.name}  trial {trial} …")


def status(results: list[Result]) -> int:
    statuses = {result.status for result in results}
    if statuses & BAD:
        return 1
    return 3 if statuses == {"skipped"} else 0


def _setting(given: dict[str, Any]) -> Setting:
    return Setting(
        python=given["python"],
        python_path=tuple(str(Path(path).absolute()) for path in given["paths"]),
        root_data_dir=given["data_dir"],
        constructor_args=read_arguments(given["constructor_args"], "--constructor-args"),
        plain=given["plain"],
        windows=windows.parse(given["profile"]),
        timeout=units.seconds(given["timeout"]),
    )


def _show(results: list[Result], form: str, home: Path) -> None:
    trials = benching.over_trials(results)
    if form == "json":
        click.echo(codec.encode(benches.document(results, trials), indent=2))
    else:
        print_table(benches.runs_table(results), form)
        if trials:
            click.echo("")
            print_table(benches.metrics_table(trials), form)
    for result in results:
        if result.status in BAD:
            options.say(f"what it printed: {home / 'runs' / result.id / 'worker.log'}")
    traces = home / "runs" / results[0].run
    if any(traces.glob("*/output/profiler_data")):
        options.say(f"traces: {traces}/*/output/profiler_data")
    options.say(f"kept as {results[0].run}; to see it again: assay show {results[0].run}")

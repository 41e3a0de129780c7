"""assay perfzero: what `python3 benchmark.py` was, flag by flag."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click

from assay.cli import options, printing
from assay.cli.finish import handle_signals, status_of
from assay.commands.bench.cli import print_trial
from assay.compat.perfzero import options as perfzero
from assay.compat.perfzero import run
from assay.compat.perfzero.options import PerfZeroRequest
from assay.compat.perfzero.run import Executed
from assay.platforms.cloud import tpu
from assay.platforms.sinks import credentials


def old_flag(name: str, flag: perfzero.OldFlag) -> Any:
    """A flag of PerfZero as click's."""
    if isinstance(flag.default, bool):
        return options.boolean(f"--{name}", name, help=flag.help)
    if isinstance(flag.default, tuple):
        return click.option(f"--{name}", name, multiple=True, metavar="TEXT", help=flag.help)
    kind = int if isinstance(flag.default, int) else str
    shown = bool(flag.default)
    return click.option(
        f"--{name}", name, type=kind, default=flag.default, show_default=shown, help=flag.help
    )


@click.command(
    epilog="""\b
Example:
  assay perfzero --benchmark_methods=my_pkg.bench.Resnet.benchmark_1_gpu \\
      --git_repos='https://github.com/me/my_pkg.git;main' --python_path=my_pkg"""
)
@options.compose(*(old_flag(name, flag) for name, flag in perfzero.FLAGS.items()))
@click.option(
    "--timeout",
    default="24h",
    show_default=True,
    help="Limit for one run of one method (assay's own flag).",
)
@click.option("--python", default="", help="Virtual environment to run in (assay's own flag).")
@options.home
def command(timeout: str, python: str, home: str | None, **flags: Any) -> int:
    """Run benchmark methods as PerfZero does, with its flags, summary and files."""
    request = perfzero.request(flags, timeout, python)
    with credentials.use_key(request.sinks.key), _tpu(request) as version:
        return _run(request, version, flags["debug"], home)


def _tpu(request: PerfZeroRequest) -> AbstractContextManager[dict[str, str]]:
    return tpu.node(request.tpu, options.print_message) if request.tpu else nullcontext({})


def _run(request: PerfZeroRequest, version: dict[str, str], debug: bool, home: str | None) -> int:
    prepared = run.prepare(request, lambda line: options.print_message(line))
    if version:
        prepared.site_package_info["tpu_version"] = dict(version)
    handle_signals()
    done: list[Executed] = []
    missed: list[str] = []

    def missing(sentence: str) -> None:
        missed.append(sentence)
        options.print_message(f"warning: {sentence}")

    try:
        for executed in run.execute(request, prepared, os.environ, home, print_trial, missing):
            done.append(executed)
            _show(executed, debug)
    finally:
        if done:
            _blocks(prepared.seconds, done)
    problems = bool(missed) or any(executed.problems for executed in done)
    return status_of([executed.benched.result for executed in done]) or int(problems)


def _show(executed: Executed, debug: bool) -> None:
    benched = executed.benched
    if debug:
        log = (executed.folder / "perfzero.log").read_text(errors="replace")
        options.print_message(log.partition("Benchmark execution for ")[0].rstrip())
    options.print_message(*(f"note: {benched.method.name}: {note}" for note in benched.notes))
    if benched.result.reason:
        options.print_message(
            f"{benched.method.name}: {benched.result.status}: {benched.result.reason}"
        )
    options.print_message(*(f"note: {problem}" for problem in executed.problems))
    printing.put(f"Benchmark execution for {benched.method.name} completed with summary:")
    printing.put_document(executed.summary)


def _blocks(seconds: dict[str, float], done: list[Executed]) -> None:
    """The three blocks PerfZero ends with."""
    times: dict[str, Any] = dict(seconds)
    successes: dict[str, dict[str, bool]] = {}
    folders: dict[str, dict[str, str]] = {}
    for executed in done:
        trial, name = f"trial_{executed.benched.trial}", executed.benched.method.name
        times.setdefault(trial, {})[name] = executed.seconds
        succeeded = executed.summary["benchmark_result"]["succeeded"]
        successes.setdefault(trial, {})[name] = succeeded
        folders.setdefault(trial, {})[name] = str(executed.folder)
    for heading, block in (
        ("Benchmark execution time in seconds by operation:", times),
        ("Benchmark success results:", successes),
        ("Benchmark local output directories:", folders),
    ):
        printing.put(f"{heading}\n{json.dumps(block, indent=2)}")

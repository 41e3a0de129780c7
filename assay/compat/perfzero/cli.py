"""assay perfzero: the command line of PerfZero's benchmark.py."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import handle_signals, status_of
from assay.commands.bench.cli import print_trial
from assay.compat.perfzero import options as perfzero
from assay.compat.perfzero import run
from assay.compat.perfzero.options import PerfZeroFlags, PerfZeroRequest
from assay.compat.perfzero.run import MethodRun
from assay.core.options import Flag, StoreUrl
from assay.platforms.cloud import tpu
from assay.platforms.sinks import credentials


@click_command(
    PerfZeroFlags,
    separator="_",
    epilog="""\b
Example:
  assay perfzero --benchmark_methods=my_pkg.bench.Resnet.benchmark_1_gpu \\
      --git_repos='https://github.com/me/my_pkg.git;main' --python_path=my_pkg""",
)
def command(
    keywords: Keywords,
    *,
    timeout: Annotated[str, Flag("Limit for one run of one method (assay's own flag).")] = "24h",
    python: Annotated[str, Flag("Virtual environment to run in (assay's own flag).")] = "",
    store: StoreUrl = None,
) -> int:
    """Run benchmark methods as PerfZero does, with its flags, summary and files."""
    flags = PerfZeroFlags(**keywords)
    request = perfzero.request(flags, timeout, python)
    with credentials.use_key(request.sinks.key), _tpu(request) as version:
        return _run(request, version, flags.debug, store)


def _tpu(request: PerfZeroRequest) -> AbstractContextManager[dict[str, str]]:
    return tpu.node(request.tpu, options.print_message) if request.tpu else nullcontext({})


def _run(request: PerfZeroRequest, version: dict[str, str], debug: bool, store: StoreUrl) -> int:
    setup = run.prepare(request, lambda line: options.print_message(line))
    if version:
        setup.site_package_info["tpu_version"] = dict(version)
    handle_signals()
    runs: list[MethodRun] = []
    warnings: list[str] = []

    def warn(sentence: str) -> None:
        warnings.append(sentence)
        options.print_message(f"warning: {sentence}")

    try:
        for method_run in run.execute(request, setup, os.environ, store, print_trial, warn):
            runs.append(method_run)
            _print_run(method_run, debug)
    finally:
        if runs:
            _print_blocks(setup.seconds, runs)
    problems = bool(warnings) or any(method_run.problems for method_run in runs)
    return status_of([method_run.benched.result for method_run in runs]) or int(problems)


def _print_run(method_run: MethodRun, debug: bool) -> None:
    benched = method_run.benched
    if debug:
        log = (method_run.folder / "perfzero.log").read_text(errors="replace")
        options.print_message(log.partition("Benchmark execution for ")[0].rstrip())
    options.print_message(*(f"note: {benched.method.name}: {note}" for note in benched.notes))
    if benched.result.reason:
        options.print_message(
            f"{benched.method.name}: {benched.result.status}: {benched.result.reason}"
        )
    lines = [*method_run.problems, *method_run.notes]
    options.print_message(*(f"note: {line}" for line in lines))
    printing.put(f"Benchmark execution for {benched.method.name} completed with summary:")
    printing.put_document(method_run.summary)


def _print_blocks(seconds: dict[str, float], runs: list[MethodRun]) -> None:
    """Print the three blocks at the end of PerfZero's output."""
    times: dict[str, Any] = dict(seconds)
    successes: dict[str, dict[str, bool]] = {}
    folders: dict[str, dict[str, str]] = {}
    for method_run in runs:
        trial, name = f"trial_{method_run.benched.trial}", method_run.benched.method.name
        times.setdefault(trial, {})[name] = method_run.seconds
        succeeded = method_run.summary["benchmark_result"]["succeeded"]
        successes.setdefault(trial, {})[name] = succeeded
        folders.setdefault(trial, {})[name] = str(method_run.folder)
    for heading, block in (
        ("Benchmark execution time in seconds by operation:", times),
        ("Benchmark success results:", successes),
        ("Benchmark local output directories:", folders),
    ):
        printing.put(f"{heading}\n{json.dumps(block, indent=2)}")

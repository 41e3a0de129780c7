"""assay hpvm: the command lines of HPVM's Keras benchmark scripts, and HPVM-C programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.compat.hpvm.run import run_hpvm
from assay.core.findings import Output, Table
from assay.core.options import Argument, Flag, Format, StoreUrl
from assay.core.records import SCHEMA

if TYPE_CHECKING:
    from assay.native.hpvm.program import HpvmRun

Engine = Annotated[
    str, Flag("jax, tensorflow or torch; else KERAS_BACKEND.", flags="--keras_backend")
]


class _Scripts(click.Group):
    """A group whose first argument is `run`, `test` or the name of a network."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Accept options before the first argument, as HPVM's scripts do."""
        first = 0
        while first < len(args) and args[first].startswith("--") and args[first] != "--help":
            first += 1 if "=" in args[first] else 2
        reordered = args[first : first + 1] + args[:first] + args[first + 1 :]
        return super().parse_args(ctx, reordered)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            args = ["NET", *args]
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Scripts,
    subcommand_metavar="NET WORD… | run PROGRAM | test",
    epilog="""\b
Examples:
  assay hpvm alexnet2 keras_reload
  assay hpvm alexnet2 keras_reload frontend compile compile_tuner
  assay hpvm ./vgg16_cifar10.py hpvm_reload frontend compile
  assay hpvm examples/my_benchmark.py:Digits train keras_dump
  assay hpvm run program.cc --data model_params
  assay hpvm test""",
)
def command() -> None:
    """HPVM's scripts and programs, without HPVM.

    NET is one of its networks, a file with one of its scripts, which runs unchanged, or FILE:CLASS.
    The first WORD is hpvm_reload, keras_reload or train: the weights are loaded or trained, and
    evaluated; final_accuracy is written. A second may be keras_dump, or frontend, which writes
    HPVM-C and its files to src_dir and data_dir; then compile makes HPVM_binary of it, and
    compile_tuner HPVM_tuner_binary. It differs from the old scripts in that a failure has a status,
    training works, and no file is ever half written.
    """


@click_command(group=command, name="NET")
def script(
    name: Annotated[str, Argument("NET")],
    words: Annotated[tuple[str, ...], Argument("WORD…")] = (),
    *,
    keras_backend: Engine = "",
    store: StoreUrl = None,
) -> int:
    """Run a script of HPVM. NET is the name of a network, or a Python file with one."""
    from assay.cli.finish import handle_signals
    from assay.cli.progress import ProgressLine
    from assay.compat.hpvm import scripts as old

    handle_signals()
    if name.endswith(".py") and Path(name).is_file():
        return _run_file(Path(name), words, old.engine_for(keras_backend))
    old.check_name(name, ("run", "test"))
    request = old.read_words(name, words)
    line = ProgressLine()
    outcome = old.run_request(request, old.engine_for(keras_backend), store, line)
    line.done(outcome.result)
    printing.put(*old.lines(outcome.result))
    accuracy = old.percent(outcome.result)
    if accuracy is None:
        return 3 if outcome.result.status == "skipped" else 1
    old.write_accuracy(accuracy, Path.cwd())
    printing.put(*map(str, outcome.written))
    options.print_message(f"written: final_accuracy; kept as {outcome.result.id}")
    return 0


def _run_file(script: Path, words: tuple[str, ...], engine: str) -> int:
    """Run a script that was written for HPVM, in a process of its own."""
    command = [sys.executable, "-P", "-m", "assay.compat.hpvm.script", str(script), *words]
    environment = {**os.environ, "KERAS_BACKEND": engine.removeprefix("keras-")}
    status = subprocess.run(command, env=environment, check=False).returncode
    return status if status >= 0 else 1


@click_command(run_hpvm, group=command, name="run")
def run(
    program: Annotated[str, Argument("PROGRAM.cc")],
    keywords: Keywords,
    *,
    format: Format = "text",
) -> int:
    """Compile an HPVM-C program, ours or anyone's, as ordinary C++, and run it here.

    \b
    Example:
      assay hpvm run alexnet2_cifar10.cpp --data model_params
    """
    from assay.cli.finish import handle_signals

    handle_signals()
    ending = run_hpvm(program, **keywords)
    if text := (ending.output + ending.error).rstrip("\n"):
        options.print_message(text)
    if ending.status:
        return ending.status if 0 < ending.status < 126 else 1
    printing.show(run_output(program, ending), format)
    options.print_message("gpu and cpu lines both run on the CPU")
    return 0


def run_output(program: str, ending: HpvmRun) -> Output:
    total = sum(ending.batches)
    mean = total / len(ending.batches) if ending.batches else None
    accuracy = "" if ending.accuracy is None else f"{ending.accuracy:.6g} %"
    row = (
        program,
        accuracy,
        str(len(ending.batches)),
        "" if mean is None else f"{mean * 1e3:.4g} ms",
    )
    document = {
        "schema": SCHEMA,
        "kind": "hpvm-run",
        "program": program,
        "accuracy": ending.accuracy,
        "seconds": list(ending.batches),
    }
    columns = ("program", "accuracy", "batches", "time of a batch")
    table = Table(columns=columns, rows=(row,), numeric=frozenset(columns[1:]))
    return Output(tables=(table,), document=document)


@click_command(group=command, name="test")
def test(
    nets: Annotated[tuple[str, ...], Argument("[NET…]")] = (),
    *,
    keras_backend: Engine = "",
    store: StoreUrl = None,
    format: Format = "text",
) -> int:
    """Evaluate every network that has weights in Keras and as a binary, as test_benchmarks.py did.

    The two must agree within 0.05 points, and reach HPVM's table. For the others it is said what
    they need.

    \b
    Example:
      assay hpvm test lenet alexnet2
    """
    from assay.cli.finish import handle_signals
    from assay.compat.hpvm.scripts import engine_for
    from assay.compat.hpvm.test import check_networks, output, status

    handle_signals()
    results = list(check_networks(nets, engine_for(keras_backend), store, options.print_message))
    printing.show(output(results), format)
    return status(results)

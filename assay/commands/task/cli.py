"""assay task: any command as a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from assay.cli import options, printing
from assay.cli.finish import handle_signals, print_uploads, status_of
from assay.commands.task import api
from assay.core import settings, units
from assay.core.errors import UsageError
from assay.core.records import Result
from assay.logs.reader import Outcome
from assay.logs.suggest import suggestion_table
from assay.logs.task import Task
from assay.reporting import results

FILE = click.option(
    "--file",
    default="",
    help="Task file; default: tasks.toml or task_config_template.cfg in this folder.",
)


class WithCommand(click.Command):
    """What stands after `--` is the command to run, untouched."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta["assay.command"] = tuple(args[place + 1 :])
            args = args[:place]
        return super().parse_args(ctx, args)


@click.group(
    epilog="""\b
Examples:
  assay task run resnet50_cifar10_hybrid --file task_config_template.cfg
  assay task run -- python train.py --epochs 3
  assay task parse train.log --task resnet50_cifar10_hybrid"""
)
def command() -> None:
    """Run any command as a benchmark; its metrics are read from its log."""


@command.command(
    cls=WithCommand,
    epilog="""\b
Examples:
  assay task run train --file tasks.toml --repeats 3 --num-gpus 0
  assay task run -- python train.py --epochs 3           metrics are suggested from the log
  assay task run --save tasks.toml -- python train.py    … and saved as a task
  assay task run --policy inference_policy -- ./serve --requests 1000""",
)
@click.argument("name", required=False)
@click.argument("more", nargs=-1, metavar="")
@FILE
@click.option(
    "--policy", default="", help="Read the metrics of this section from the command after --."
)
@click.option(
    "--save", default="", metavar="FILE", help="Write the suggested metrics as a task file."
)
@click.option("--repeats", type=int, default=0, help="Number of runs; default: the task's.")
@click.option("--timeout", default="", help="Limit for one run; default: the task's.")
@click.option("--num-gpus", type=int, help="Number of GPUs; default: the task's.")
@click.option("--epochs", help="Replaces the value of --epochs in the command.")
@click.option("--kvstore", help="Replaces the value of --kvstore in the command.")
@click.option("--dtype", help="Replaces the value of --dtype in the command.")
@options.label
@options.tag
@options.home
@options.form
@click.pass_context
def run(
    ctx: click.Context,
    /,
    name: str | None,
    more: tuple[str, ...],
    **given: Any,
) -> int:
    """Run the task NAME, or the command after `--`, and keep the result."""
    if more:
        raise UsageError(
            f"One task was expected, but {' '.join((name or '', *more))} was given.",
            hint=f"A command stands after --: assay task run -- {' '.join((name or '', *more))}",
        )
    request = _request(name, ctx.meta.get("assay.command", ()), given)
    for note in request.notes:
        options.print_message(f"note: {note}")
    handle_signals()
    options.print_message(f"{request.name}  running …")
    found = api.run_and_save(
        request, given["label"], options.pairs(given["tags"], "--tag"), given["home"]
    )
    printing.show(results.output([found]), given["form"])
    result = found.result
    _print_more(result, request, given)
    print_uploads(result.run, given["home"])
    if result.status == "interrupted":
        return 130
    return status_of([result])


@command.command(
    epilog="""\b
Examples:
  assay task parse old.log --task train --file tasks.toml
  assay task parse old.log                       metrics are suggested from the log"""
)
@click.argument("log", metavar="LOGFILE")
@click.option("--task", "name", default="", help="Task whose metrics are read.")
@FILE
@click.option(
    "--save", default="", metavar="FILE", help="Write the suggested metrics as a task file."
)
@options.label
@options.home
@options.form
def parse(log: str, name: str, **given: Any) -> int:
    """Read metrics from an existing log, those of a task or suggested ones."""
    if not name:
        outcome = api.suggest_from(log)
        printing.show_table(suggestion_table(outcome), given["form"])
        _offer(Task(name=Path(log).stem), outcome, given["save"])
        return 0
    request = api.section(name, given["file"])
    found = api.read_log(request, log, given["label"], given["home"])
    printing.show(results.output([found]), given["form"])
    return status_of([found.result])


def _request(name: str | None, words: tuple[str, ...], given: dict[str, Any]) -> Task:
    overrides = {
        key: given[key]
        for key in ("num_gpus", "epochs", "kvstore", "dtype")
        if given[key] is not None
    }
    if words:
        request = api.task_from_command(words, given["policy"], given["file"], name or "")
        request = api.override_task(request, overrides) if overrides else request
    elif name:
        request = api.find_task(name, given["file"], overrides)
    else:
        raise UsageError(
            "Neither a task nor a command was given.",
            hint="assay task run NAME --file tasks.toml, or assay task run -- COMMAND …",
        )
    changes: dict[str, Any] = {}
    if given["repeats"]:
        changes["repeats"] = given["repeats"]
    if given["timeout"]:
        changes["timeout"] = units.seconds(given["timeout"])
    return msgspec.structs.replace(request, **changes)


def _print_more(result: Result, request: Task, given: dict[str, Any]) -> None:
    """Suggestions for a command without metrics, and where everything is."""
    folder = settings.runs(given["home"]) / result.id
    if not request.metrics and result.status == "ok":
        outcome = api.suggestions(result, given["home"])
        if given["form"] == "text":
            printing.show_table(suggestion_table(outcome), "text")
        _offer(request, outcome, given["save"])
    options.print_message(f"kept as {result.id}; its log: {folder / 'log.gz'}")


def _offer(request: Task, outcome: Outcome, save: str) -> None:
    if not outcome.metrics:
        options.print_message(
            "no number comes again behind the same words, so no metric is suggested"
        )
    elif save:
        options.print_message(f"saved as {api.save(request, outcome, save)}")
    else:
        options.print_message("to keep these metrics as a task, add: --save tasks.toml")

"""assay task: any command as a benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from assay.cli import options, printing
from assay.cli.command import Keywords, ReadCommand, click_command
from assay.commands.task import api
from assay.core import units
from assay.core.errors import UsageError
from assay.core.options import Argument, Flag, Format
from assay.logs.task import Task

if TYPE_CHECKING:
    from assay.core.records import Result, Value
    from assay.logs.reader import Outcome

File = Annotated[
    str, Flag("Task file; default: tasks.toml or task_config_template.cfg in this folder.")
]
Save = Annotated[str, Flag("Write the suggested metrics as a task file.", "FILE")]
COMMAND = "assay.command"  # in the context: the words after --


class WithCommand(ReadCommand):
    """What stands after `--` is the command to run, untouched."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            index = args.index("--")
            ctx.meta[COMMAND] = tuple(args[index + 1 :])
            args = args[:index]
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


@click_command(
    api.run_task,
    group=command,
    cls=WithCommand,
    epilog="""\b
Examples:
  assay task run train --file tasks.toml --repeats 3 --num-gpus 0
  assay task run -- python train.py --epochs 3           metrics are suggested from the log
  assay task run --name nightly -- bash a.sh             name of the case; default: the command
  assay task run --save tasks.toml -- python train.py    … and saved as a task
  assay task run --policy inference_policy -- ./serve --requests 1000""",
)
def run(
    name: Annotated[str, Argument(required=False)] = "",
    more: Annotated[tuple[str, ...], Argument(metavar="")] = (),
    *,
    keywords: Keywords,
    file: File = "",
    policy: Annotated[
        str, Flag("Read the metrics of this section from the command after --.")
    ] = "",
    case_name: Annotated[
        str, Flag("Name of the case of a command; default: the command.", "NAME", flags="--name")
    ] = "",
    save: Save = "",
    repeats: Annotated[int, Flag("Number of runs; default: the task's.")] = 0,
    timeout: Annotated[str, Flag("Limit for one run; default: the task's.")] = "",
    num_gpus: Annotated[int | None, Flag("Number of GPUs; default: the task's.")] = None,
    epochs: Annotated[str | None, Flag("Replaces the value of --epochs in the command.")] = None,
    kvstore: Annotated[str | None, Flag("Replaces the value of --kvstore in the command.")] = None,
    dtype: Annotated[str | None, Flag("Replaces the value of --dtype in the command.")] = None,
    store: str | None,
    format: Format = "text",
) -> int:
    """Run the task NAME, or the command after `--`, and keep the result."""
    from assay.cli.finish import handle_signals, print_uploads, status_of
    from assay.reporting import results

    if more:
        words = " ".join((name or "", *more))
        raise UsageError(
            f"One task was expected, but {words} was given.",
            hint=f"A command stands after --: assay task run -- {words}",
        )
    overrides = {"num_gpus": num_gpus, "epochs": epochs, "kvstore": kvstore, "dtype": dtype}
    command = click.get_current_context().meta.get(COMMAND, ())
    if case_name and not command:
        raise UsageError(
            f"--name {case_name} has no command to name.",
            hint=f"As in: assay task run --name {case_name} -- COMMAND …",
        )
    task = _task(case_name or name, command, file, policy, overrides)
    task = _change_limits(task, repeats, timeout)
    for note in task.notes:
        options.print_message(f"note: {note}")
    handle_signals()
    options.print_message(f"{case_name or task.name}  running …")
    reading = api.run_and_save(task, **keywords)
    printing.show(results.output([reading]), format)
    result = reading.result
    _print_more(result, task, save, store, format)
    print_uploads(result.run, store)
    if result.status == "interrupted":
        return 130
    return status_of([result])


@click_command(
    api.parse_log,
    group=command,
    epilog="""\b
Examples:
  assay task parse old.log --task train --file tasks.toml
  assay task parse old.log                       metrics are suggested from the log""",
)
def parse(
    log: Annotated[str, Argument("LOGFILE")],
    keywords: Keywords,
    *,
    task: Annotated[str, Flag("Task whose metrics are read.")] = "",
    file: File = "",
    save: Save = "",
    format: Format = "text",
) -> int:
    """Read metrics from an existing log, those of a task or suggested ones."""
    from assay.cli.finish import status_of
    from assay.logs.suggest import suggestion_table
    from assay.reporting import results

    if not task:
        outcome = api.suggest_from(log)
        printing.show_table(suggestion_table(outcome), format)
        _offer(Task(name=Path(log).stem), outcome, save)
        return 0
    reading = api.read_log(api.section(task, file), log, **keywords)
    printing.show(results.output([reading]), format)
    return status_of([reading.result])


def _task(
    name: str,
    command: tuple[str, ...],
    file: str,
    policy: str,
    overrides: Mapping[str, Value | None],
) -> Task:
    """The task of a file, or a task for a command."""
    chosen = {key: value for key, value in overrides.items() if value is not None}
    if command:
        task = api.task_from_command(command, policy, file, name)
        return api.override_task(task, chosen) if chosen else task
    if name:
        return api.find_task(name, file, chosen)
    raise UsageError(
        "Neither a task nor a command was given.",
        hint="assay task run NAME --file tasks.toml, or assay task run -- COMMAND …",
    )


def _change_limits(task: Task, repeats: int, timeout: str) -> Task:
    if repeats:
        task = msgspec.structs.replace(task, repeats=repeats)
    return msgspec.structs.replace(task, timeout=units.seconds(timeout)) if timeout else task


def _print_more(result: Result, task: Task, save: str, store: str | None, format: str) -> None:
    """Suggestions for a command without metrics, and where everything is."""
    from assay.core import settings
    from assay.logs.suggest import suggestion_table

    folder = settings.runs(store) / result.id
    if not task.metrics and result.status == "ok":
        outcome = api.suggestions(result, store)
        if format == "text":
            printing.show_table(suggestion_table(outcome), "text")
        _offer(task, outcome, save)
    options.print_message(f"kept as {result.id}; its log: {folder / 'log.gz'}")


def _offer(task: Task, outcome: Outcome, save: str) -> None:
    if not outcome.metrics:
        options.print_message(
            "no number comes again behind the same words, so no metric is suggested"
        )
    elif save:
        options.print_message(f"saved as {api.save(task, outcome, save)}")
    else:
        options.print_message("to keep these metrics as a task, add: --save tasks.toml")

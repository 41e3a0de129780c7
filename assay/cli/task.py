"""assay task: any command as a benchmark."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from assay import settings, tasking, units
from assay.cli import options
from assay.cli.ending import heed_signals
from assay.cli.output import print_readings, print_table
from assay.cli.run import BAD
from assay.errors import UsageError
from assay.records import Result
from assay.tasks.suggest import suggestion_table
from assay.tasks.task import Task

FILE = click.option("--file", default="", help="Task file; tasks.toml or the AWS template here.")


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
@click.option("--policy", default="", help="Metrics of this section, for the command after --.")
@click.option("--save", default="", metavar="FILE", help="Write the suggested task here.")
@click.option("--repeats", type=int, default=0, help="Instead of the task's own.")
@click.option("--timeout", default="", help="Instead of the task's own.")
@click.option("--num-gpus", type=int, help="Instead of the task's own; 0 for none.")
@click.option("--epochs", help="In place of the command's --epochs.")
@click.option("--kvstore", help="In place of the command's --kvstore.")
@click.option("--dtype", help="In place of the command's --dtype.")
@click.option("--label", default="", help="A name to find this result by.")
@options.tag
@options.home
@options.form
@click.pass_context
def run(
    ctx: click.Context,
    /,
    name: str | None,
    more: tuple[str, ...],
    **given: Any,  # noqa: ANN401
) -> int:
    """Run the task NAME, or the command after `--`, and keep the result."""
    if more:
        raise UsageError(
            f"One task was expected, but {' '.join((name or '', *more))} was given.",
            hint=f"A command stands after --: assay task run -- {' '.join((name or '', *more))}",
        )
    asked = _asked(name, ctx.meta.get("assay.command", ()), given)
    for note in asked.notes:
        options.say(f"note: {note}")
    heed_signals()
    options.say(f"{asked.name}  running …")
    result = tasking.run_task(
        asked, given["label"], options.pairs(given["tags"], "--tag"), given["home"]
    )
    print_readings([tasking.reading(result)], given["form"])
    _say_more(result, asked, given)
    if result.status == "interrupted":
        return 130
    return 1 if result.status in BAD else 0


@command.command(epilog="\b\nExample:\n  assay task parse old.log --task train --file tasks.toml")
@click.argument("log", metavar="LOGFILE")
@click.option("--task", "name", required=True, help="Whose metrics.")
@FILE
@click.option("--label", default="", help="A name to find this result by.")
@options.home
@options.form
def parse(log: str, name: str, **given: Any) -> int:  # noqa: ANN401
    """Read the metrics of a task from a log that exists already."""
    asked = tasking.section(name, given["file"])
    result, _ = tasking.parse_log(asked, log, given["label"], given["home"])
    print_readings([tasking.reading(result)], given["form"])
    return 1 if result.status in BAD else 0


def _asked(name: str | None, words: tuple[str, ...], given: dict[str, Any]) -> Task:
    overrides = {
        key: given[key]
        for key in ("num_gpus", "epochs", "kvstore", "dtype")
        if given[key] is not None
    }
    if words:
        asked = tasking.of_command(words, given["policy"], given["file"], name or "")
        asked = tasking.overridden(asked, overrides) if overrides else asked
    elif name:
        asked = tasking.task(name, given["file"], overrides)
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
    return msgspec.structs.replace(asked, **changes)


def _say_more(result: Result, asked: Task, given: dict[str, Any]) -> None:
    """Suggestions for a command without metrics, and where everything is."""
    folder = settings.home(given["home"]) / "runs" / result.id
    if not asked.metrics and result.status == "ok":
        outcome = tasking.suggestions(result, given["home"])
        if given["form"] == "text":
            print_table(suggestion_table(outcome), "text")
        if given["save"]:
            options.say(f"saved as {tasking.save(asked, outcome, given['save'])}")
        elif outcome.metrics:
            options.say("to keep these metrics as a task, add: --save tasks.toml")
    options.say(f"kept as {result.id}; its log: {folder / 'log.gz'}")

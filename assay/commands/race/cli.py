"""assay race: the fastest of many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from assay.cli import complete, options, printing
from assay.cli.finish import UNDECIDED, last_of, say_kept, say_uploads
from assay.cli.progress import LiveLine
from assay.commands.race import api
from assay.commands.race.ranking import Race
from assay.core.errors import UsageError
from assay.stores.read import resume_hint


@click.command(
    epilog="""\b
Examples:
  assay race vgg16:image_size=32,classes=10 --budget 5m
  assay race vgg16 --mode train -b torch,jax --over batch_size=32,128 --over precision=bfloat16
  assay race vgg16 --precision float32                   no winner less precise than this
  assay race transformer-decoder:task=generate -b torch,jax --metric time_to_first_token
  assay race --resume last                               for its budget once more

Exit status: 0 decided, 6 the budget ended first, 1 none of them ran well.
  assay race mnist-mlp --on ray://HOST:10001"""
)
@click.argument("workload", required=False, shell_complete=complete.cases)
@click.option(
    "--mode", default="infer", show_default=True, help="Training steps or inference: train, infer."
)
@options.backends
@click.option(
    "--precision",
    default="",
    metavar="A,B",
    help="Precisions the winner may have; default: float32,bfloat16.",
)
@click.option(
    "--over", multiple=True, metavar="NAME=A,B", help="Option or parameter to vary; repeatable."
)
@click.option("--budget", default="5m", show_default=True, help="Total time.")
@click.option(
    "--min-effect",
    "minimum",
    default="2%",
    show_default=True,
    help="Contenders closer than this are equally good.",
)
@click.option(
    "--metric",
    default="",
    help="What the fastest is fastest at: item_time (default); of text time_to_first_token, "
    "time_per_output_token or token_time (over all rows).",
)
@options.timeout("10m", "one process")
@options.cluster
@options.cold
@options.trust
@options.resume("Continue a race, for its budget once more.")
@options.label
@options.home
@options.form
def command(workload: str | None, resume: str | None, **given: Any) -> int:
    """Find the fastest configuration of WORKLOAD here, by time per item.

    Without --over: every backend installed, in float32 and bfloat16, with the compiler off and on,
    in both layouts, and in inference the usual batch and a quarter of it. The plainest come first;
    those surely slower are dropped, and time goes to those in doubt.
    """
    line = LiveLine()
    if bool(workload) == bool(resume):
        raise UsageError("A race needs a workload, or --resume.", hint="Try: assay race mnist-mlp")
    found = (
        api.resume(resume, given["home"], line, given["on"], options.needs(given))
        if resume
        else _begun(str(workload), given, line)
    )
    last = last_of(_announced(found, line), lambda one: _show(one, given))
    if last.places[0].state != "in":
        return 1
    return 0 if _decided(last) else UNDECIDED


def show(run: str, home: str | None, form: str) -> None:
    """A race that was run before."""
    found = api.kept(run, home)
    _print(found, form)
    if not _decided(found):
        options.say(f"undecided; {resume_hint(run, home)}")


def _begun(workload: str, given: dict[str, Any], line: LiveLine) -> Iterator[Race]:
    over = options.pairs(given["over"], "--over")
    if given["precision"]:
        over["precision"] = given["precision"]
    return api.race(
        workload,
        mode=given["mode"],
        backends=options.several(given["backends"]),
        over=options.axes(over),
        **{
            name: given[name]
            for name in ("budget", "minimum", "timeout", "cold", "metric", "trust")
        },
        label=given["label"],
        home=given["home"],
        progress=line,
        on=given["on"],
        need=options.needs(given),
    )


def _announced(found: Iterator[Race], line: LiveLine) -> Iterator[Race]:
    from assay.commands.race.view import heat_line

    for one in found:
        if not one.ended and not _nobody_ran(one):
            line.say(heat_line(one))
        yield one


def _nobody_ran(found: Race) -> bool:
    return all(place.state == "untried" for place in found.places)


def _show(found: Race, given: dict[str, Any]) -> None:
    _print(found, given["form"])
    say_kept(found.run, "" if _decided(found) else "race")
    say_uploads(found.run, given["home"])


def _decided(found: Race) -> bool:
    return found.ended.startswith("decided")


def _print(found: Race, form: str) -> None:
    from assay.commands.race.view import output

    if _nobody_ran(found):
        options.say(f"No heat ended, so that nothing is known of {len(found.places)} contenders.")
    else:
        printing.show(output(found, api.option_effects_of(found)), form)

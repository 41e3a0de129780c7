"""assay race: the fastest of many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from assay import codec, racing, units
from assay.cli import options
from assay.cli.ab import UNDECIDED
from assay.cli.ending import last_of
from assay.cli.output import print_table
from assay.cli.progress import LiveLine
from assay.errors import UsageError
from assay.findings import Race


@click.command(
    epilog="""\b
Examples:
  assay race vgg16:image_size=32,classes=10 --budget 5m
  assay race vgg16 --mode train -b torch,jax --over batch_size=32,128 --over precision=bfloat16
  assay race --resume last                               for its budget once more

Leaves with 0 when decided, 6 when the budget ended first, 1 when none ran well."""
)
@click.argument("workload", required=False)
@click.option("--mode", default="infer", show_default=True, help="train or infer.")
@click.option("-b", "--backend", "backends", multiple=True, help="May be repeated; commas too.")
@click.option("--over", multiple=True, metavar="NAME=A,B", help="An option or parameter to vary.")
@click.option("--budget", default="5m", show_default=True, help="Time, all in all.")
@click.option("--min-effect", "minimum", default="2%", show_default=True, help="Less is as good.")
@click.option("--timeout", default="10m", show_default=True, help="For one process.")
@click.option("--resume", metavar="RUN", help="Go on with a race.")
@click.option("--label", default="", help="A name to find the results by.")
@options.home
@options.form
def command(workload: str | None, resume: str | None, **given: Any) -> int:  # noqa: ANN401
    """Find the fastest configuration of WORKLOAD here, by the time of an item.

    Without --over: every backend installed, in float32 and bfloat16, with the compiler off and on,
    in both layouts, and in inference the usual batch and a quarter of it. The plainest come first;
    those surely slower are dropped, and time goes to those in doubt.
    """
    line = LiveLine()
    if bool(workload) == bool(resume):
        raise UsageError("A race needs a workload, or --resume.", hint="Try: assay race mnist-mlp")
    found = (
        racing.resume(resume, given["home"], line) if resume else _begun(str(workload), given, line)
    )
    last = last_of(_announced(found, line), lambda one: _show(one, given["form"]))
    if last.places[0].state != "in":
        return 1
    return 0 if last.ended.startswith("decided") else UNDECIDED


def show(run: str, home: str | None, form: str) -> None:
    """A race that was run before."""
    _show(racing.kept(run, home), form)


def _begun(workload: str, given: dict[str, Any], line: LiveLine) -> Iterator[Race]:
    over = options.pairs(given["over"], "--over")
    return racing.race(
        workload,
        mode=given["mode"],
        backends=[name for text in given["backends"] for name in options.values(text)],
        over={name: options.values(text) for name, text in over.items()},
        budget=units.seconds(given["budget"]),
        minimum=units.share(given["minimum"]),
        timeout=units.seconds(given["timeout"]),
        label=given["label"],
        home=given["home"],
        watch=line,
    )


def _announced(found: Iterator[Race], line: LiveLine) -> Iterator[Race]:
    from assay.views.races import heat_line

    for one in found:
        if not one.ended and not _nobody_ran(one):
            line.say(heat_line(one))
        yield one


def _nobody_ran(found: Race) -> bool:
    return all(place.state == "untried" for place in found.places)


def _show(found: Race, form: str) -> None:
    from assay.views.races import ranking_table

    if form == "json":
        click.echo(codec.encode(found, indent=2))
    elif _nobody_ran(found):
        options.say(f"No heat ended, so that nothing is known of {len(found.places)} contenders.")
    else:
        print_table(ranking_table(found), form)
        bought = racing.what_options_bought(found)
        if form == "text" and bought.rows:
            click.echo()
            print_table(bought, form)
    options.say(f"kept as {found.run}; to go on: assay race --resume {found.run}")

"""assay ab: which of two is faster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from assay import codec, comparing, units
from assay.cli import options
from assay.cli.ending import last_of
from assay.cli.output import print_table
from assay.cli.progress import LiveLine
from assay.findings import Comparison

UNDECIDED = 6


@click.command(
    epilog="""\b
Examples:
  assay ab mnist-mlp@jax mnist-mlp@torch                     random pairs of fresh processes
  assay ab mnist-mlp@torch mnist-mlp@torch:compiler=on --min-effect 2% --budget 10m
  assay ab mnist-mlp@torch --python venv-old --python venv-new
  assay ab ./my.py:MyNet@keras-jax --commit main --commit HEAD
  assay ab --cmd 'python old.py' --cmd 'python new.py'
  assay ab --cmd "sh -c 'a | b'" --cmd "sh -c 'a | c'"       a shell has to be asked for
  assay ab --cmd './a' --cmd './b' --metric 'rate=([0-9.]+) items/s' --higher-is-better
  assay ab mnist-mlp@jax mnist-mlp@jax --aa                  what this machine calls different

Leaves with 0 when decided, 6 when it cannot tell, 1 when a contender failed."""
)
@click.argument("cases", nargs=-1, metavar="CASE CASE")
@click.option(
    "--cmd",
    "commands",
    multiple=True,
    metavar="COMMAND",
    help="Twice: two commands, run without a shell.",
)
@click.option("--python", "pythons", multiple=True, metavar="VENV", help="Twice: one case in both.")
@click.option("--commit", "commits", multiple=True, help="Twice: one case at both.")
@click.option(
    "--metric",
    default="",
    help="step_time, item_time, first_step, open_time; of commands wall_time, NAME=REGEX; a peak.",
)
@click.option("--budget", default="5m", show_default=True, help="Time, all in all.")
@click.option("--min-effect", "minimum", default="1%", show_default=True, help="Less is no change.")
@click.option("--pairs", type=int, default=60, show_default=True, help="Of processes, at most.")
@click.option("--timeout", default="10m", show_default=True, help="For one process.")
@click.option("--higher-is-better", is_flag=True, help="Of the metric of two commands.")
@click.option("--aa", "same", is_flag=True, help="Both are the same: what is called different?")
@click.option("--any-outputs", is_flag=True, help="Do not mind if their outputs differ.")
@click.option("--label", default="", help="A name to find the results by.")
@options.tag
@options.home
@options.form
def command(cases: tuple[str, ...], **given: Any) -> int:  # noqa: ANN401
    """Compare the second CASE to the first: faster, slower, same or cannot tell.

    Both are kept warm and take turns in random order, in fresh pairs of processes, until the
    question is decided or the budget ends.
    """
    line = LiveLine()
    found = comparing.ab(
        *cases,
        **{name: given[name] for name in ("commands", "pythons", "commits", "metric", "pairs")},
        **{name: given[name] for name in ("higher_is_better", "same", "label", "home")},
        budget=units.seconds(given["budget"]),
        minimum=units.share(given["minimum"]),
        timeout=units.seconds(given["timeout"]),
        outputs=not given["any_outputs"],
        tags=options.pairs(given["tags"], "--tag"),
        watch=line,
    )
    last = last_of(_announced(found, line), lambda one: _show(one, given["form"]))
    return 1 if last.failures else UNDECIDED if last.verdict == "cannot-tell" else 0


def show(run: str, home: str | None, form: str) -> None:
    """A comparison that was made before."""
    _show(comparing.kept(run, home), form)


def _announced(found: Iterator[Comparison], line: LiveLine) -> Iterator[Comparison]:
    from assay.views.comparisons import change

    for one in found:
        ratio = one.ratio
        if ratio.n and not one.ended.startswith("interrupted"):
            interval = f"{change(ratio.low)} to {change(ratio.high)}"
            line.say(f"pair {ratio.n}: {change(ratio.value)}, {interval}: {one.verdict}")
        yield one


def _show(found: Comparison, form: str) -> None:
    from assay.views.comparisons import comparison_document, comparison_table

    if form == "json":
        click.echo(codec.encode(comparison_document(found), indent=2))
    else:
        print_table(comparison_table(found), form)
    options.say(f"kept as {found.run}; to see it again: assay show {found.run}")

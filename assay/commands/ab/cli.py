"""assay ab: which of two is faster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from assay.cli import complete, options, printing
from assay.cli.finish import REGRESSION, UNDECIDED, last_of, say_kept, say_uploads
from assay.cli.progress import LiveLine
from assay.commands.ab import api
from assay.core.errors import UsageError
from assay.stats.paired_ratio import Comparison
from assay.stores.read import resume_hint

WIDE = 4  # an interval from x to 4 x says nothing worth reading


@click.command(
    epilog="""\b
Examples:
  assay ab mnist-mlp@jax mnist-mlp@torch                     random pairs of fresh processes
  assay ab mnist-mlp@torch mnist-mlp@torch:compiler=on --min-effect 2% --budget 10m
  assay ab mnist-mlp@torch --python venv-old --python venv-new
  assay ab ./my.py:MyNet@keras-jax --commit main --commit HEAD
  assay ab ./my.py:MyNet@keras-jax --commit HEAD --commit .  the edits not committed yet
  assay ab --resume last                                     for its budget once more
  assay ab --cmd 'python old.py' --cmd 'python new.py'
  assay ab --cmd "sh -c 'a | b'" --cmd "sh -c 'a | c'"       with a shell, named explicitly
  assay ab --cmd './a' --cmd './b' --metric 'rate=([0-9.]+) items/s' --higher-is-better
  assay ab transformer-decoder:task=generate@torch transformer-decoder:task=generate@jax \\
    --metric time_to_first_token
  assay ab mnist-mlp@jax --aa                                what this machine calls different
  assay ab ./my.py:MyNet@torch --commit main --commit HEAD --gate

Exit status: 0 decided, 6 cannot tell, 1 a contender failed. With --gate, 5 if the candidate is
slower.
  assay ab resnet50@torch resnet50@jax --on ray://HOST:10001"""
)
@click.argument("cases", nargs=-1, metavar="CASE CASE", shell_complete=complete.cases)
@click.option(
    "--cmd",
    "commands",
    multiple=True,
    metavar="COMMAND",
    help="Compare two commands, given twice; run without a shell.",
)
@click.option(
    "--python",
    "pythons",
    multiple=True,
    metavar="VENV",
    help="Compare one case in two virtual environments, given twice.",
)
@click.option(
    "--commit",
    "commits",
    multiple=True,
    help="Compare one case at two commits, given twice; . is the working tree.",
)
@click.option(
    "--metric",
    default="",
    help="What to compare: step_time (default), min (the fastest step, which others disturb "
    "least), item_time, first_step, open_time or a peak; of text time_to_first_token, "
    "time_per_output_token, token_time or decode_throughput; "
    "of commands wall_time (default) or NAME=REGEX.",
)
@click.option("--budget", default="5m", show_default=True, help="Total time.")
@click.option(
    "--min-effect",
    "minimum",
    default="1%",
    show_default=True,
    help="Smallest difference that counts as a change.",
)
@click.option(
    "--pairs", type=int, default=60, show_default=True, help="Maximum number of pairs of processes."
)
@options.timeout("10m", "one process")
@click.option("--higher-is-better", is_flag=True, help="A higher value of the metric is better.")
@click.option(
    "--aa",
    "same",
    is_flag=True,
    help="Compare a case to itself, to see what noise alone would be called.",
)
@click.option(
    "--gate",
    is_flag=True,
    help="Exit with status 5 if the candidate is slower, for scripts and CI.",
)
@click.option(
    "--build", default="", metavar="COMMAND", help="Run in the checkout of each --commit first."
)
@click.option("--any-outputs", is_flag=True, help="Do not compare their outputs.")
@options.cluster
@options.cold
@options.trust
@options.label
@options.tag
@options.resume("Continue a comparison, for its budget once more.")
@options.home
@options.form
def command(cases: tuple[str, ...], resume: str | None, **given: Any) -> int:
    """Compare the second CASE to the first: faster, slower, same or cannot tell.

    Both are kept warm and take turns in random order, in fresh pairs of processes, until the
    question is decided or the budget ends.
    """
    line = LiveLine()
    if resume and (cases or given["commands"]):
        raise UsageError(
            "--resume was given with something to compare.", hint="A run has its own contenders."
        )
    needs = options.needs(given)
    found = (
        api.resume(resume, given["home"], line, given["on"], needs)
        if resume
        else _begun(cases, given, line)
    )
    last = last_of(_announced(found, line), lambda one: _show(one, given))
    return 1 if last.failures else _status(last.verdict, given["gate"])


def _begun(cases: tuple[str, ...], given: dict[str, Any], line: LiveLine) -> Iterator[Comparison]:
    names = ("commands", "pythons", "commits", "metric", "pairs", "build")
    return api.ab(
        *cases,
        **{
            name: given[name]
            for name in (*names, "higher_is_better", "same", "label", "home", "on")
        },
        **{name: given[name] for name in ("budget", "minimum", "timeout", "cold", "trust")},
        outputs=not given["any_outputs"],
        tags=options.pairs(given["tags"], "--tag"),
        progress=line,
        need=options.needs(given),
    )


def _status(verdict: str, gate: bool) -> int:
    if verdict == "cannot-tell":
        return UNDECIDED
    return REGRESSION if gate and verdict == "slower" else 0


def show(run: str, home: str | None, form: str) -> None:
    """A comparison that was made before."""
    found = api.kept(run, home)
    _print(found, form)
    if _undecided(found):
        options.say(f"undecided; {resume_hint(run, home)}")


def _announced(found: Iterator[Comparison], line: LiveLine) -> Iterator[Comparison]:
    from assay.core.units import change

    for one in found:
        ratio = one.ratio
        if ratio.n and not one.ended.startswith("interrupted"):
            wide = one.verdict == "cannot-tell" and ratio.high > WIDE * ratio.low
            interval = (
                "too few pairs to say" if wide else f"{change(ratio.low)} to {change(ratio.high)}"
            )
            line.say(f"pair {ratio.n}: {change(ratio.value)}, {interval}: {one.verdict}")
        yield one


def _print(found: Comparison, form: str) -> None:
    from assay.commands.ab.view import output

    printing.show(output(found), form)


def _show(found: Comparison, given: dict[str, Any]) -> None:
    _print(found, given["form"])
    say_kept(found.run, "ab" if _undecided(found) else "")
    say_uploads(found.run, given["home"])


def _undecided(found: Comparison) -> bool:
    return found.verdict == "cannot-tell" and not found.failures

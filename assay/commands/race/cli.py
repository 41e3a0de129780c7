"""assay race: the fastest of many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import UNDECIDED, last_of, say_kept, say_uploads
from assay.cli.progress import LiveLine
from assay.commands.race import api
from assay.commands.race.ranking import Race
from assay.core.errors import UsageError
from assay.core.options import Argument, Flag, Format
from assay.stores.read import resume_hint


@click_command(
    api.race,
    epilog="""\b
Examples:
  assay race vgg16:image_size=32,classes=10 --budget 5m
  assay race vgg16 --mode train -b torch,jax --over batch_size=32,128 --over precision=bfloat16
  assay race vgg16 --precision float32                   no winner less precise than this
  assay race transformer-decoder:task=generate -b torch,jax --metric time_to_first_token
  assay race --resume last                               for its budget once more

Exit status: 0 decided, 6 the budget ended first, 1 none of them ran well.
  assay race mnist-mlp --on ray://HOST:10001""",
)
def command(
    keywords: Keywords,
    workload: Annotated[str, Argument(complete="cases")] = "",
    *,
    precision: Annotated[
        Sequence[str],
        Flag("Precisions the winner may have; default: float32,bfloat16.", "A,B", read="list"),
    ] = (),
    resume: Annotated[
        str, Flag("Continue a race, for its budget once more.", "RUN", complete="runs")
    ] = "",
    on: str,
    need: Mapping[str, str],
    store: str | None,
    format: Format = "text",
) -> int:
    """Find the fastest configuration of WORKLOAD here, by time per item.

    Without --over: every backend installed, in float32 and bfloat16, with the compiler off and on,
    in both layouts, and in inference the usual batch and a quarter of it. The plainest come first;
    those surely slower are dropped, and time goes to those in doubt.
    """
    line = LiveLine()
    if bool(workload) == bool(resume):
        raise UsageError("A race needs a workload, or --resume.", hint="Try: assay race mnist-mlp")
    if precision:
        keywords["over"]["precision"] = precision
    races = (
        api.resume(resume, store, line, on, need)
        if resume
        else api.race(workload, **keywords, progress=line)
    )
    last = last_of(_announced(races, line), lambda each: _show(each, store, format))
    if last.places[0].state != "in":
        return 1
    return 0 if _decided(last) else UNDECIDED


def show(run: str, home: str | None, form: str) -> None:
    """A race that was run before."""
    found = api.kept(run, home)
    _print(found, form)
    if not _decided(found):
        options.say(f"undecided; {resume_hint(run, home)}")


def _announced(found: Iterator[Race], line: LiveLine) -> Iterator[Race]:
    from assay.commands.race.view import heat_line

    for one in found:
        if not one.ended and not _nobody_ran(one):
            line.say(heat_line(one))
        yield one


def _nobody_ran(found: Race) -> bool:
    return all(place.state == "untried" for place in found.places)


def _show(found: Race, store: str | None, format: str) -> None:
    _print(found, format)
    say_kept(found.run, "" if _decided(found) else "race")
    say_uploads(found.run, store)


def _decided(found: Race) -> bool:
    return found.ended.startswith("decided")


def _print(found: Race, form: str) -> None:
    from assay.commands.race.view import output

    if _nobody_ran(found):
        options.say(f"No heat ended, so that nothing is known of {len(found.places)} contenders.")
    else:
        printing.show(output(found, api.option_effects_of(found)), form)

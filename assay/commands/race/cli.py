"""assay race: the fastest of many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import UNDECIDED, print_saved, print_uploads, show_last
from assay.cli.progress import ProgressLine
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
  assay race --resume last                               with the same budget again
  assay race mnist-mlp --on ray://HOST:10001

Exit status: 0 decided, 6 budget used up first, 1 no contender ran well.""",
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
        str, Flag("Continue a race with the same budget again.", "RUN", complete="runs")
    ] = "",
    on: str,
    need: Mapping[str, str],
    store: str | None,
    format: Format = "text",
) -> int:
    """Find the fastest configuration of WORKLOAD here, by time per item.

    Without --over: every backend installed, in float32 and bfloat16, with the compiler off and on,
    in both layouts, and in inference the usual batch and a quarter of it. The simplest come first;
    contenders that are certainly slower are dropped, and time goes to the uncertain ones.

    assay study takes the same --over, and measures every combination instead.
    """
    line = ProgressLine()
    if bool(workload) == bool(resume):
        raise UsageError("A race needs a workload, or --resume.", hint="Try: assay race mnist-mlp")
    if precision:
        keywords["over"]["precision"] = precision
    races = (
        api.resume(resume, store, line, on, need)
        if resume
        else api.race(workload, **keywords, progress=line)
    )
    last = show_last(_print_progress(races, line), lambda each: _show(each, store, format))
    if last.places[0].state != "in":
        return 1
    return 0 if _is_decided(last) else UNDECIDED


def show(run: str, store: str | None, format: str) -> None:
    """Show a stored race."""
    race = api.load_race(run, store)
    _print(race, format)
    if not _is_decided(race):
        options.print_message(f"undecided; {resume_hint(run, store)}")


def _print_progress(races: Iterator[Race], line: ProgressLine) -> Iterator[Race]:
    from assay.commands.race.view import heat_line

    try:
        for race in races:
            if not race.ended and not _is_empty(race):
                line.update(heat_line(race))
            yield race
    finally:
        line.clear()


def _is_empty(race: Race) -> bool:
    return all(place.state == "untried" for place in race.places)


def _show(race: Race, store: str | None, format: str) -> None:
    _print(race, format)
    print_saved(race.run, "" if _is_decided(race) else "race")
    print_uploads(race.run, store)


def _is_decided(race: Race) -> bool:
    return race.ended.startswith("decided")


def _print(race: Race, format: str) -> None:
    from assay.commands.race.view import output

    if _is_empty(race):
        options.print_message(
            f"No heat finished; nothing is known about {len(race.places)} contenders."
        )
    else:
        printing.show(output(race, api.read_option_effects(race)), format)

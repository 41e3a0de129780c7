"""assay bisect: which commit or version changed the speed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from assay.cli import printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import UNDECIDED, print_saved, show_last
from assay.cli.progress import ProgressLine
from assay.commands.bisect import api
from assay.commands.bisect.api import Bisection
from assay.core.errors import UsageError
from assay.core.options import Argument, Flag, Format


@click_command(
    api.bisect,
    epilog="""\b
Examples:
  assay bisect --good v1.0 --bad HEAD ./my.py:MyNet@keras-jax
  assay bisect --good main --bad HEAD ./my.py:MyNet@torch --build 'make -j2'
  assay bisect --good jax==0.9.0 --bad jax==0.10.2 cifar10-cnn@keras-jax
  assay bisect --resume last

Exit status: 0 found with the requested confidence, 2 the ends are the same, 6 undecided.""",
)
def command(
    keywords: Keywords,
    case: Annotated[str, Argument(complete="cases")] = "",
    *,
    resume: Annotated[
        str,
        Flag(
            "Continue a bisection; finished comparisons are not repeated.",
            "RUN",
            complete="runs",
        ),
    ] = "",
    store: str | None,
    format: Format = "text",
) -> int:
    """Find the commit or the version of a package that changed the speed of CASE.

    Revisions are compared with the good end as by assay ab; those that cannot be built are skipped,
    and uncertain ones are compared again until the confidence is reached.
    """
    line = ProgressLine()
    if bool(case) == bool(resume):
        raise UsageError(
            "A bisection needs a case with --good and --bad, or --resume.",
            hint="As in: assay bisect --good v1.0 --bad HEAD ./my.py:MyNet@torch",
        )
    bisections = api.resume(resume, store, line) if resume else _begin(case, keywords, line)
    last = show_last(_print_progress(bisections, line), lambda each: _show(each, format))
    if last.ended.startswith("the ends are the same"):
        return UsageError.status
    return 0 if last.ended.startswith("decided") else UNDECIDED


def show(run: str, store: str | None, format: str) -> None:
    """Show a stored bisection."""
    _show(api.load_bisection(run, store), format)


def _begin(case: str, keywords: Keywords, line: ProgressLine) -> Iterator[Bisection]:
    for end in ("good", "bad"):
        if not keywords[end]:
            raise UsageError(f"--{end} is missing.", hint="--good v1.0 --bad HEAD")
    return api.bisect(case, progress=line, **keywords)


def _print_progress(bisections: Iterator[Bisection], line: ProgressLine) -> Iterator[Bisection]:
    from assay.commands.bisect.view import step_line

    try:
        for bisection in bisections:
            if bisection.tried:
                line.update(step_line(bisection.tried[-1], bisection))
            yield bisection
    finally:
        line.clear()


def _show(bisection: Bisection, format: str) -> None:
    from assay.commands.bisect.view import output

    printing.show(output(bisection), format)
    known = bisection.ended.startswith(("decided", "the ends are the same"))
    print_saved(bisection.run, "" if known else "bisect")

"""assay ab: which of two is faster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from assay.cli import options
from assay.cli.command import Keywords, click_command
from assay.commands.ab import api
from assay.core.errors import UsageError
from assay.core.options import Argument, Flag, Format

if TYPE_CHECKING:
    from assay.cli.progress import ProgressLine
    from assay.stats.paired_ratio import Comparison

EXAMPLES = """\b
Examples:
  assay ab mnist-mlp@jax mnist-mlp@torch                     random pairs of fresh processes
  assay ab mnist-mlp@torch mnist-mlp@torch:compiler=on --min-effect 2% --budget 10m
  assay ab mnist-mlp@torch --python venv-old --python venv-new
  assay ab ./my.py:MyNet@keras-jax --commit main --commit HEAD
  assay ab ./my.py:MyNet@keras-jax --commit HEAD --commit .  the edits not committed yet
  assay ab --resume last                                     with the same budget again
  assay ab --cmd 'python old.py' --cmd 'python new.py'
  assay ab --cmd "sh -c 'a | b'" --cmd "sh -c 'a | c'"       with a shell, named explicitly
  assay ab --cmd './a' --cmd './b' --metric 'rate=([0-9.]+) items/s' --higher-is-better
  assay ab transformer-decoder:task=generate@torch transformer-decoder:task=generate@jax \\
    --metric time_to_first_token
  assay ab mnist-mlp@jax --aa                                the noise of this machine
  assay ab ./my.py:MyNet@torch --commit main --commit HEAD --gate
  assay ab resnet50@torch resnet50@jax --on ray://HOST:10001

Exit status: 0 decided, 6 cannot tell, 1 a contender failed. With --gate, 5 if the candidate is
slower."""


@click_command(api.ab, epilog=EXAMPLES)
def command(
    cases: Annotated[tuple[str, ...], Argument("CASE CASE", complete="cases")],
    keywords: Keywords,
    *,
    gate: Annotated[
        bool, Flag("Exit with status 5 if the candidate is slower, for scripts and CI.")
    ] = False,
    resume: Annotated[
        str, Flag("Continue a comparison with the same budget again.", "RUN", complete="runs")
    ] = "",
    commands: Sequence[str],
    on: str,
    need: Mapping[str, str],
    store: str | None,
    format: Format = "text",
) -> int:
    """Compare the second CASE to the first: faster, slower, same or cannot tell.

    Both are kept warm and take turns in random order, in fresh pairs of processes, until the
    question is decided or the budget ends.
    """
    from assay.cli.finish import show_last
    from assay.cli.progress import ProgressLine

    line = ProgressLine()
    if resume and (cases or commands):
        raise UsageError(
            "--resume was given with something to compare.", hint="A run has its own contenders."
        )
    comparisons = (
        api.resume(resume, store, line, on, need)
        if resume
        else api.ab(*cases, **keywords, progress=line)
    )
    last = show_last(_print_progress(comparisons, line), lambda each: _show(each, store, format))
    return 1 if last.failures else _status(last.verdict, gate)


def _status(verdict: str, gate: bool) -> int:
    from assay.cli.finish import REGRESSION, UNDECIDED

    if verdict == "cannot-tell":
        return UNDECIDED
    return REGRESSION if gate and verdict == "slower" else 0


def show(run: str, store: str | None, format: str) -> None:
    """Show a stored comparison."""
    from assay.stores.read import resume_hint

    comparison = api.load_comparison(run, store)
    _print(comparison, format)
    if _is_undecided(comparison):
        options.print_message(f"undecided; {resume_hint(run, store)}")


def _print_progress(comparisons: Iterator[Comparison], line: ProgressLine) -> Iterator[Comparison]:
    from assay.commands.ab.view import progress_line

    try:
        for comparison in comparisons:
            if comparison.ratio.n and not comparison.ended.startswith("interrupted"):
                line.update(progress_line(comparison))
            yield comparison
    finally:
        line.clear()


def _print(comparison: Comparison, format: str) -> None:
    from assay.cli import printing
    from assay.commands.ab.view import output

    printing.show(output(comparison), format)


def _show(comparison: Comparison, store: str | None, format: str) -> None:
    from assay.cli.finish import print_saved, print_uploads

    _print(comparison, format)
    print_saved(comparison.run, "ab" if _is_undecided(comparison) else "")
    print_uploads(comparison.run, store)


def _is_undecided(comparison: Comparison) -> bool:
    return comparison.verdict == "cannot-tell" and not comparison.failures

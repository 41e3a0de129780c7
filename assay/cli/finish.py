"""End of a command that measures: table of results, exit status, uploads and signals."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
import msgspec

from assay.cli import options, printing
from assay.cli.progress import ProgressLine
from assay.core import settings
from assay.core.errors import AssayError, signal_name
from assay.core.findings import Output, SummarizedResult, Table
from assay.core.guard import adopt_orphans
from assay.core.records import Result
from assay.reporting import results
from assay.stats.fairness.checks import fairness
from assay.stats.roofline import lacks_peak
from assay.stats.winner import rank

if TYPE_CHECKING:
    from assay.platforms.sinks.records import Uploads

FAILED_STATUSES = {"failed", "crashed", "timeout", "out-of-memory"}
REGRESSION, UNDECIDED = 5, 6
NO_PEAK = (
    "note: whether these speeds are possible was not checked, as no measured peak of this machine "
    "is stored; to measure it: assay doctor"
)


@contextmanager
def show_when_done(
    line: ProgressLine,
    command: str,
    store: str | None,
    format: str,
    columns: Sequence[str] = (),
    strict: bool = False,
) -> Iterator[list[SummarizedResult]]:
    """Collect the results of a command and show their table at the end, also after an interrupt.

    It is a context manager, so that it is not on the stack while a case is measured.
    """
    handle_signals()
    readings: list[SummarizedResult] = []
    unfair: list[str] = []
    try:
        yield readings
    finally:
        line.clear()
        unfair += unfair_sentences(readings) if strict else []
        if readings:
            runs = settings.runs(store)
            _show(readings, "" if unfair else format, command, runs, columns)
            print_uploads(readings[0].result.run, store)
        options.print_message(*unfair)


def unfair_sentences(readings: Sequence[SummarizedResult]) -> list[str]:
    """One sentence per difference that --strict refuses."""
    mismatches = fairness(reading.result for reading in readings)
    return [
        f"refused: {mismatch.workload}: {mismatch.text}."
        for mismatch in mismatches
        if mismatch.unfair
    ]


def status(readings: Iterable[SummarizedResult]) -> int:
    readings = list(readings)
    broken = any(c.verdict == "fail" for reading in readings for c in reading.summary.checks)
    return 1 if broken else status_of(reading.result for reading in readings)


def status_of(results: Iterable[Result]) -> int:
    statuses = {result.status for result in results}
    if statuses & FAILED_STATUSES:
        return 1
    return 3 if statuses == {"skipped"} else 0


def print_logs(results: Iterable[Result], runs: Path) -> None:
    """Print the paths of the logs of failed cases."""
    for result in results:
        if result.status in FAILED_STATUSES:
            options.print_message(f"what it printed: {runs / result.id / 'worker.log'}")


def print_uploads(run: str, store: settings.Home) -> None:
    """Upload the run if the settings say so; an error is printed, and the run stays stored."""
    if not (settings.home(store) / settings.SINKS).is_file():
        return
    from assay.platforms.sinks import upload

    try:
        sent = upload.after_run(run, store)
    except AssayError as error:
        options.print_message(f"not uploaded: {error}", f"hint: {error.hint}")
        return
    options.print_message(*(upload_lines(sent) if sent else ()))


def print_saved(run: str, resume: str = "") -> None:
    """Print the command that shows the run or, if it was interrupted, the one that resumes it."""
    if resume:
        options.print_message(f"kept as {run}; to go on: assay {resume} --resume {run}")
    else:
        options.print_message(f"kept as {run}; to see it again: assay show {run}")


def _show(
    readings: list[SummarizedResult], form: str, command: str, runs: Path, columns: Sequence[str]
) -> None:
    """Print the table of results; none without a format."""
    measured = [reading.result for reading in readings]
    if form:
        mismatches = fairness(measured)
        ranking = rank(readings, mismatches)
        printing.show(results.output(readings, mismatches, columns, ranking=ranking), form)
    print_logs(measured, runs)
    if any(lacks_peak(result) for result in measured):
        options.print_message(NO_PEAK)
    cut_short = any(result.status == "interrupted" for result in measured)
    print_saved(measured[0].run, command if cut_short else "")


def output(uploads: Uploads) -> Output:
    waiting = sum(not (upload.arrived or upload.earlier) for upload in uploads.uploads)
    note = f"{waiting} not uploaded; to try again: assay upload --pending" if waiting else ""
    return Output(
        tables=(
            Table(
                columns=("sink", "place", "outcome", "id"),
                rows=tuple((u.sink, u.place, u.text, u.id) for u in uploads.uploads),
                notes=(note,) if note else (),
            ),
        ),
        document=msgspec.to_builtins(uploads),
    )


def upload_lines(uploads: Uploads) -> list[str]:
    """Lines about the uploads of a run."""
    return [upload.line for upload in uploads.uploads]


A = TypeVar("A")


PATIENCE = 3.0  # seconds after an interrupt in which further ones are ignored


def handle_signals() -> None:
    """Treat SIGHUP and SIGTERM as interrupts, and ignore a second interrupt during cleanup."""
    if threading.current_thread() is threading.main_thread():
        interrupt = _Interrupt()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, interrupt)
    if context := click.get_current_context(silent=True):
        context.with_resource(adopt_orphans())  # until the command has ended


def show_last(items: Iterator[A], show: Callable[[A], None]) -> A:
    """The last item, which is shown also after an error or interrupt."""
    handle_signals()
    seen: list[A] = []
    try:
        seen.extend(items)
    finally:
        if seen:
            show(seen[-1])
    return seen[-1]


class _Interrupt:
    """Signal handler that raises KeyboardInterrupt, but not again while the program cleans up."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = -PATIENCE

    def __call__(self, number: int, _: object) -> None:
        now = self._clock()
        if now - self._last < PATIENCE:
            return
        self._last = now
        words = "" if number == signal.SIGINT else f"ended by {signal_name(number)}"
        raise KeyboardInterrupt(*filter(None, [words]))

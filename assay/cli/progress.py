"""Progress line: current case, estimate so far, and remaining time."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Callable

from assay.core.progress import Progress
from assay.core.records import Result
from assay.core.units import human
from assay.reporting.output.text import cut
from assay.reporting.terminal import plain

_PHASES = {"open": "opening", "first": "first step", "warmup": "warming up"}
_WIDTH = 10  # characters of the bar
_NAME = 16  # minimum number of characters of a case's name


class ProgressLine:
    """One line that is overwritten on a terminal; elsewhere one line per phase and case."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._live = sys.stderr.isatty()
        self._shown = ""
        self._clock = clock
        self._begun = clock()
        self._ended = 0  # cases so far

    def __call__(self, progress: Progress) -> None:
        text = f"{_which(progress)}{_name(progress)}  {_progress_text(progress)}"
        if self._live:
            write_over(f"\r\033[K{self._fitting(progress, shutil.get_terminal_size().columns - 1)}")
        elif (progress.phase != "steady" or progress.note) and text != self._shown:
            write_over(f"{text}\n")
        self._shown = text

    def done(self, result: Result, more: str = "") -> None:
        self._ended += 1
        words = ", ".join(filter(None, (result.status, human(result.seconds, "s"), more)))
        self.put_line(f"{result.case.key}  {words}")

    def put_line(self, text: str) -> None:
        """Print a line that is not overwritten."""
        text = plain(text)
        write_over(f"\r\033[K{text}\n" if self._live else f"{text}\n")

    def clear(self) -> None:
        """Erase the line before other output."""
        if self._live and self._shown:
            write_over("\r\033[K")

    def _fitting(self, progress: Progress, width: int) -> str:
        """The line within `width`; the name is cut first."""
        before, after = _which(progress), f"  {_progress_text(progress)}{self._whole(progress)}"
        room = max(_NAME, width - len(before) - len(after))
        return f"{before}{cut(_name(progress), room)}{after}"[:width]

    def _whole(self, progress: Progress) -> str:
        """A bar of finished and remaining cases, with an estimate of the remaining time."""
        if progress.count < 2:
            return ""
        full = _WIDTH * self._ended // progress.count
        bar = "█" * full + "░" * (_WIDTH - full)
        if not self._ended:
            return f"  {bar}"
        left = (self._clock() - self._begun) / self._ended * (progress.count - self._ended)
        return f"  {bar} about {human(left, 's')} for all"


def write_over(text: str) -> None:
    """Write to standard error without an added line break."""
    with contextlib.suppress(OSError):  # the terminal may be gone; the work is not
        sys.stderr.write(text)
        sys.stderr.flush()


def _which(progress: Progress) -> str:
    """`[2/6] ` or, with several processes per case, `[2/6, process 3/5] `, and the node."""
    parts = [f"{progress.number}/{progress.count}"] if progress.count > 1 else []
    if progress.processes > 1:
        parts.append(f"process {progress.process}/{progress.processes}")
    if progress.node:
        parts.append(f"{progress.at_once} at once, this on {_one_line(progress.node)}")
    return f"[{', '.join(parts)}] " if parts else ""


def _name(progress: Progress) -> str:
    return _one_line(progress.case.key)


def _one_line(text: str) -> str:
    """Text of a user without line breaks or control characters."""
    return plain(text).replace("\n", " ")


def _progress_text(progress: Progress) -> str:
    if progress.note:
        return _one_line(progress.note)
    if progress.phase != "steady" or not progress.estimate:
        return f"{_PHASES.get(progress.phase, progress.phase)} …"
    text = f"{human(progress.estimate, 's')} ± {progress.half_width / progress.estimate:.1%}"
    return f"{text}  {progress.samples} samples  at most {progress.left:.0f} s left"

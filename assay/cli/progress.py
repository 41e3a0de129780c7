"""Progress line: current case, estimate so far, and remaining time."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Callable

from assay.cli.options import is_terminal
from assay.core.progress import Progress
from assay.core.records import Result
from assay.core.units import human
from assay.reporting.colors import color_verdicts, has_color
from assay.reporting.output.text import cut
from assay.reporting.terminal import plain

_PHASES = {"open": "opening", "first": "first step", "warmup": "warming up"}
_WIDTH = 10  # characters of the bar
_NAME = 16  # minimum number of characters of a case's name


class OverwrittenLine:
    """A line on standard error that is overwritten with spaces, so it needs no escape sequence."""

    def __init__(self) -> None:
        self._shown = ""

    def show(self, text: str) -> None:
        write_over(f"\r{text}{' ' * (len(self._shown) - len(text))}")
        self._shown = text

    def clear(self) -> None:
        if self._shown:
            self.show("")
            write_over("\r")


class ProgressLine:
    """One line that is overwritten on a terminal; elsewhere, also on a dumb terminal, a line for
    each case that ended."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._live = is_terminal()
        self._line = OverwrittenLine()
        self._noted = ""  # the last note that was printed
        self._so_far = ""  # what is known
        self._which = ""  # case of how many
        self._clock = clock
        self._begun = clock()
        self._ended = 0  # cases so far

    def __call__(self, progress: Progress) -> None:
        self._which = _which(progress)
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            about = f"{self._so_far}; " if self._so_far else ""
            room = width - min(len(about), width // 2)
            now = self._fitting(progress, room)
            self._line.show(f"{cut(about, width - len(now))}{now}")
            return
        text = f"{_which(progress)}{_name(progress)}  {_progress_text(progress)}"
        if progress.note and text != self._noted:
            write_over(f"{text}\n")
            self._noted = text

    def done(self, result: Result, more: str = "") -> None:
        """Print a line about a case that ended; on a terminal only if it did not end well, because
        the table will have the others."""
        self._ended += 1
        words = ", ".join(filter(None, (result.status, human(result.seconds, "s"), more)))
        text = f"{self._which}{result.case.key}  {words}"
        if not self._live or result.status != "ok":
            self.put_line(text)

    def update(self, text: str) -> None:
        """Show what is known so far: on a terminal at the start of the line, else in one of its
        own."""
        if self._live:
            self._so_far = _one_line(text)
            self._line.show(cut(self._so_far, shutil.get_terminal_size().columns - 1))
        else:
            self.put_line(text)

    def put_line(self, text: str) -> None:
        """Print a line that is not overwritten."""
        self.clear()
        text = plain(text)
        write_over(f"{color_verdicts(text) if has_color(sys.stderr) else text}\n")

    def clear(self) -> None:
        """Erase the line before other output."""
        self._line.clear()

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

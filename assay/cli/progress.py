"""The live line: what is measured now, what it looks like, how long it takes."""

from __future__ import annotations

import contextlib
import shutil
import sys

from assay.records import Result
from assay.schedule import Progress
from assay.units import human

_PHASES = {"open": "opening", "first": "first step", "warmup": "warming up"}


class LiveLine:
    """One line that is written over on a terminal; elsewhere a plain line per phase and case."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._shown = ""

    def __call__(self, progress: Progress) -> None:
        name = progress.case.key
        if progress.phase == "steady" and progress.estimate:
            text = (
                f"{name}  {human(progress.estimate, 's')} "
                f"± {progress.half_width / progress.estimate:.1%}  "
                f"{progress.samples} samples  at most {progress.left:.0f} s left"
            )
        elif progress.note:
            text = f"{name}  {progress.note}"
        else:
            text = f"{name}  {_PHASES.get(progress.phase, progress.phase)} …"
        if self._live:
            self._write(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}")
        elif (progress.phase != "steady" or progress.note) and text != self._shown:
            self._write(f"{text}\n")
        self._shown = text

    def done(self, result: Result, more: str = "") -> None:
        words = ", ".join(filter(None, (result.status, human(result.seconds, "s"), more)))
        self.say(f"{result.case.key}  {words}")

    def say(self, text: str) -> None:
        """A line that stays."""
        self._write(f"\r\033[K{text}\n" if self._live else f"{text}\n")

    @staticmethod
    def _write(text: str) -> None:
        with contextlib.suppress(OSError):  # the terminal may be gone; the measurement is not
            sys.stderr.write(text)
            sys.stderr.flush()

"""Profiler windows of a benchmark method, in its process: a thread watches the clock.

An error of the profiler is noted and does not stop the method.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from assay.backends.profilers import PROFILERS, Profiler
from assay.core.clock import clock
from assay.formats.perfzero.windows import FOR_EVER, Window

LOOK = 0.02  # seconds between looks for a framework that is not loaded yet


class Windows:
    """Context of a method call that profiles it in its windows; the last ends with the method."""

    def __init__(
        self,
        windows: Sequence[Window],
        folder: Path,
        framework: Callable[[], str],
        profilers: Mapping[str, Profiler] = PROFILERS,
        clock: Callable[[], float] = clock,
    ) -> None:
        self.notes: list[str] = []
        self._windows, self._folder = windows, folder
        self._loaded = framework  # the name of the framework that is loaded now
        self._profilers, self._clock = profilers, clock
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._wait_for_windows, daemon=True)

    def __enter__(self) -> Self:
        if self._windows:
            self._warm_up()
        self._began = self._clock()
        if self._windows:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = self._now()
        self._over.set()
        if self._windows:
            self._thread.join()

    def _warm_up(self) -> None:
        """A profiler's first start takes seconds, which should not be part of a window."""
        name = self._loaded()
        if name in self._profilers:
            with (
                contextlib.suppress(Exception),  # it is raised again, and noted, in a window
                tempfile.TemporaryDirectory() as folder,
                self._profilers[name](Path(folder)),
            ):
                pass

    def _wait_for_windows(self) -> None:
        for window in self._windows:
            self._wait_until(window[0])
            if self._over.is_set():
                self._note(window, f"never began: the method ended after {self._ended:.3g} s")
            else:
                self._open(window)

    def _open(self, window: Window) -> None:
        name = self._framework(window[1])
        if not name:
            self._note(window, "saw no framework that could be profiled")
            return
        try:
            with self._profilers[name](self._folder):
                if self._now() >= window[1]:
                    self._note(window, "was over before the profiler was on: its trace is empty")
                self._wait_until(window[1])
        except Exception as error:  # a framework's profiler may raise anything; it is noted
            self._note(window, f"has no profile: {type(error).__name__}: {error}")

    def _framework(self, end: float) -> str:
        """Wait until one is loaded: a method may import it late."""
        while (name := self._loaded()) not in self._profilers:
            if self._now() >= end or self._over.wait(LOOK):
                return ""
        return name

    def _wait_until(self, moment: float) -> None:
        """Or until the method is over."""
        self._over.wait(max(0.0, moment - self._now()))

    def _now(self) -> float:
        return self._clock() - self._began

    def _note(self, window: Window, what: str) -> None:
        end = "" if window[1] == FOR_EVER else f"{window[1]:g}"
        note = f"the profiler window {window[0]:g}:{end} {what}"
        self.notes.append(note)
        sys.stderr.write(f"{note}\n")

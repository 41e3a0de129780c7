"""Runs on a node of a Ray cluster: one unit at a time, in a temporary folder."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ray.exceptions import RayError

from assay.core import settings
from assay.core.executor import CaseDir
from assay.core.progress import Progress

REPORT_PERIOD = 0.5  # seconds between reports of one unit in the same phase
_THREADS = "OMP_NUM_THREADS"


class TaskOutcome(NamedTuple):
    """The value of a unit, and an archive of its files."""

    value: Any
    files: bytes


class ProgressBoard:
    """An actor that collects progress of units for the driver."""

    def __init__(self) -> None:
        self._latest: dict[int, Progress] = {}

    def report(self, number: int, progress: Progress) -> None:
        self._latest[number] = progress

    def take(self) -> dict[int, Progress]:
        latest, self._latest = self._latest, {}
        return latest


def run_task(
    number: int,
    function: Callable[..., Any],
    args: Sequence[Any],
    ids: Sequence[str],
    folder: str,
    board: Any,
) -> TaskOutcome:
    """Run a unit as a task, in the driver's `folder` if it exists here, with the driver's ids."""
    _own_threads()
    with suppress(OSError):
        os.chdir(folder)
    stores = settings.home() / "stores"  # in the home folder, for data
    stores.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cluster-", dir=stores) as scratch:
        places = [CaseDir(case_id, Path(scratch) / "runs" / case_id) for case_id in ids]
        for place in places:
            place.folder.mkdir(parents=True)
        value = function(places, _Reporter(number, board), *args)
        return TaskOutcome(value, _pack(places))


def _own_threads() -> None:
    """Remove the number of threads that Ray sets for each task."""
    variables = Path("/proc/self/environ").read_bytes().split(b"\0")
    if not any(variable.startswith(f"{_THREADS}=".encode()) for variable in variables):
        os.environ.pop(_THREADS, None)


class _Reporter:
    """Reports progress to the board at a new phase, and otherwise periodically."""

    def __init__(self, number: int, board: Any) -> None:
        self._number, self._board = number, board
        self._before: tuple[object, ...] = ()
        self._last = 0.0

    def __call__(self, progress: Progress) -> None:
        what, now = (progress.case.key, progress.phase, progress.process), time.monotonic()
        if what == self._before and now - self._last < REPORT_PERIOD:
            return
        self._before, self._last = what, now
        with suppress(RayError):  # the driver may be lost; the case continues
            self._board.report.remote(self._number, progress)


def _pack(places: Sequence[CaseDir]) -> bytes:
    """An archive of all files of cases, below `NUMBER/`. Links, pipes and devices are skipped."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as tar:
        for place in places:
            tar.add(place.folder, arcname=str(place.folder.name), filter=_plain_or_none)
    return file.getvalue()


def _plain_or_none(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return info if info.isreg() or info.isdir() or info.islnk() else None

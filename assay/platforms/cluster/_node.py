"""What runs on a node of a Ray cluster: one unit at a time, in a folder that is gone afterwards."""

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
from assay.core.executor import CasePlace
from assay.core.progress import Progress

OFTEN = 0.5  # seconds between two reports of one unit in the same phase
_THREADS = "OMP_NUM_THREADS"


class CarriedOut(NamedTuple):
    """What a unit gave, and the files in its places, as one archive."""

    value: Any
    files: bytes


class Board:
    """An actor: how far every unit is, until the driver takes it."""

    def __init__(self) -> None:
        self._latest: dict[int, Progress] = {}

    def report(self, number: int, progress: Progress) -> None:
        self._latest[number] = progress

    def take(self) -> dict[int, Progress]:
        taken, self._latest = self._latest, {}
        return taken


def carry_out(
    number: int,
    function: Callable[..., Any],
    args: Sequence[Any],
    ids: Sequence[str],
    folder: str,
    board: Any,
) -> CarriedOut:
    """As a task, in the `folder` the driver is in, if this machine has it. The places have the ids
    they have at home, so results are right as they are."""
    _own_threads()
    with suppress(OSError):
        os.chdir(folder)
    stores = settings.home() / "stores"  # a store's folder: data is looked for beside it
    stores.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cluster-", dir=stores) as scratch:
        places = [CasePlace(one, Path(scratch) / "runs" / one) for one in ids]
        for place in places:
            place.folder.mkdir(parents=True)
        value = function(places, _Reporter(number, board), *args)
        return CarriedOut(value, _packed(places))


def _own_threads() -> None:
    """Ray sets a number of threads for each task; a case has that of its machine, or its own."""
    given = Path("/proc/self/environ").read_bytes().split(b"\0")
    if not any(one.startswith(f"{_THREADS}=".encode()) for one in given):
        os.environ.pop(_THREADS, None)


class _Reporter:
    """Progress goes to the board when something new begins, and else now and then."""

    def __init__(self, number: int, board: Any) -> None:
        self._number, self._board = number, board
        self._before: tuple[object, ...] = ()
        self._last = 0.0

    def __call__(self, progress: Progress) -> None:
        what, now = (progress.case.key, progress.phase, progress.process), time.monotonic()
        if what == self._before and now - self._last < OFTEN:
            return
        self._before, self._last = what, now
        with suppress(RayError):  # whoever looks at it may be gone; the case goes on
            self._board.report.remote(self._number, progress)


def _packed(places: Sequence[CasePlace]) -> bytes:
    """Logs, traces and what else a case wrote; `NUMBER/…` each. Links, pipes and devices are left
    out, as by `assay import`: they mean something on this machine alone."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as tar:
        for place in places:
            tar.add(place.folder, arcname=str(place.folder.name), filter=_if_plain)
    return file.getvalue()


def _if_plain(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return info if info.isreg() or info.isdir() or info.islnk() else None

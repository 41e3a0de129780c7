"""."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from assay.core.progress import ProgressCallback
from assay.core.records import Case


class RemoteTask(NamedTuple):
    """Work for one node: a case, a pair or a heat."""

    function: Callable[
        ..., Any
    ]  # called with its places there, a callback for progress, and `args`
    args: tuple[Any, ...]
    case: Case  # shown for it in progress
    case_dirs: tuple[CaseDir, ...]  # on this machine, for its files
    progress: ProgressCallback  # on this machine


class NodeLost(NamedTuple):
    """Returned in place of a unit's value: every node that tried it was lost."""

    reason: str


class Executor(Protocol):
    """Machines that run units."""

    def submit(self, units: Iterator[RemoteTask]) -> Iterator[tuple[RemoteTask, Any]]:
        """Return values of units, or `LostUnit`, as they end; their files are in their places."""


class CaseDir(NamedTuple):
    """Id of a future result, and a folder for its files."""

    id: str
    folder: Path

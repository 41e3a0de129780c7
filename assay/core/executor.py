"""Interface to machines that measure for this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from assay.core.progress import ProgressCallback
from assay.core.records import Case


class RemoteTask(NamedTuple):
    """Work for one node: a case, a pair or a heat."""

    function: Callable[..., Any]  # takes its folders there, a progress callback and `args`
    args: tuple[Any, ...]
    case: Case  # shown for it in progress
    case_dirs: tuple[CaseDir, ...]  # on this machine, for its files
    progress: ProgressCallback  # on this machine


class NodeLost(NamedTuple):
    """Returned in place of a task's value: every node that tried it was lost."""

    reason: str


class Executor(Protocol):
    """Machines that run tasks."""

    def submit(self, units: Iterator[RemoteTask]) -> Iterator[tuple[RemoteTask, Any]]:
        """Values of tasks, or `NodeLost`, as they end; their files are in their folders."""


class CaseDir(NamedTuple):
    """Id of a future result, and a folder for its files."""

    id: str
    folder: Path

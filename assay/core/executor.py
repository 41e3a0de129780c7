"""."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from assay.core.progress import ProgressCallback
from assay.core.records import Case


class Unit(NamedTuple):
    """What one node does by itself, without neighbours: a case, a pair or a heat."""

    function: Callable[..., Any]  # of its places there, a callback for progress, and `args`
    args: tuple[Any, ...]
    case: Case  # that stands for it while nothing is known
    places: tuple[CasePlace, ...]  # here, for the files it leaves behind
    progress: ProgressCallback  # here


class LostUnit(NamedTuple):
    """In the place of what a unit would have given: each time the machine was gone before."""

    reason: str


class Elsewhere(Protocol):
    """Machines that carry out units."""

    def spread(self, units: Iterator[Unit]) -> Iterator[tuple[Unit, Any]]:
        """What each unit gave, or a `LostUnit`, as they end; its files are in its places."""


class CasePlace(NamedTuple):
    """Where one case is measured: the id its result will have, and a folder for its files."""

    id: str
    folder: Path

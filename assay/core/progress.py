"""Progress of a measurement."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import msgspec

from assay.core.records import Case, Phase


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a case."""

    case: Case
    phase: Phase
    samples: int = 0
    estimate: float = 0.0
    half_width: float = 0.0
    left: float = 0.0  # seconds of budget
    note: str = ""  # text, such as an epoch's loss
    number: int = 0  # of this case among `count`; 0: not known
    count: int = 0
    process: int = 1  # of this case, among `processes`
    processes: int = 1
    node: str = ""  # of a cluster
    at_once: int = 0  # cases measured concurrently on all nodes


class ProgressFields(TypedDict, total=False):
    """Those of a Progress that tell how far a phase is."""

    samples: int
    estimate: float
    half_width: float
    left: float
    note: str


ProgressCallback = Callable[[Progress], None]


def ignore(*_: object) -> None:
    """A callback that does nothing."""

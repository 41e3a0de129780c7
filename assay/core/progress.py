"""How far a measurement has come, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from assay.core.records import Case, Phase


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a case has come."""

    case: Case
    phase: Phase
    samples: int = 0
    estimate: float = 0.0
    half_width: float = 0.0
    left: float = 0.0  # seconds of budget
    note: str = ""  # how a training goes, in words
    number: int = 0  # of this case among `count`; 0: not known
    count: int = 0
    process: int = 1  # of this case, among `processes`
    processes: int = 1
    node: str = ""  # of a cluster, that it is on
    at_once: int = 0  # cases that are measured at the same time, on all nodes


ProgressCallback = Callable[[Progress], None]


def ignore(*_: object) -> None:
    """The callback of those who do not want to know."""

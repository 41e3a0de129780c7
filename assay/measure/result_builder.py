"""."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core import redaction
from assay.core.executor import CasePlace
from assay.core.messages import LateFacts, Opened
from assay.core.phases import Phases
from assay.core.records import LEFT_BEHIND, Case, Environment, Procedure, Result, Samples, Value
from assay.measure import process_env
from assay.measure.machine import environment, reference_load
from assay.measure.process import WorkerProcess
from assay.measure.sampling import Piece
from assay.stats.pooling import joined_peaks


def blank(case: Case, procedure: Procedure, place: CasePlace) -> Result:
    """The result of a case before anything is known of it."""
    return Result(
        id=place.id,
        case=case,
        procedure=procedure,
        status="ok",
        started=datetime.now(UTC).isoformat(timespec="milliseconds"),
        environment=_environment(case, place.folder),
    )


def _environment(case: Case, folder: Path) -> Environment:
    """This machine, with the variables the worker gets on top of the user's own."""
    found = environment.here()
    given = redaction.safe_values(process_env.variables(case, folder))
    return msgspec.structs.replace(found, variables=found.variables | given)


# The phase of a sample → of a case's time.
PIECES = {"open": "start", "first": "first step", "warmup": "warm-up", "steady": "sampling"}


# After a piece of this phase, what a worker is at until the next comes.
_DUE = {
    "open": "first step",
    "first": "warm-up",
    "warmup": "warm-up",
    "steady": "sampling",
    "checks": "checks",
}


class ResultBuilder:
    """What is known of a case while it is measured, and in the end its result."""

    def __init__(self, case: Case, procedure: Procedure, place: CasePlace) -> None:
        self.peaks: list[dict[str, float]] = []
        self._left: list[str] = []
        self._samples: dict[tuple[str, str, int, int], _Growing] = {}
        self._result = blank(case, procedure, place)
        self._begun = time.monotonic()
        self._phases = Phases()
        self._yardsticks: list[float] = []
        self._sampling = False
        self._due = "end"  # the phase that the time from now on is, should it end badly

    def begin(self) -> None:
        """Another process: where it says nothing, it is taken to build."""
        self._yardsticks.append(reference_load.seconds())
        self._due = "build"

    @property
    def seconds(self) -> float:
        """Since it was opened."""
        return time.monotonic() - self._begun

    def add(self, piece: Piece, process: int = 0) -> None:
        self._spend(piece)
        if isinstance(piece, Opened):
            self._sampling = False
            known = self._result.facts  # of a process before it, which alone was asked all
            self._result = opened(self._result, piece)
            facts = {**known, **self._result.facts}
            self._result = msgspec.structs.replace(self._result, facts=facts)
        elif isinstance(piece, LateFacts):
            facts = {**self._result.facts, **piece.facts}
            self._result = msgspec.structs.replace(self._result, facts=facts)
        else:
            kind = (piece.metric, piece.phase, piece.steps, process)
            self._samples.setdefault(kind, _Growing(piece, process)).add(piece)

    def _spend(self, piece: Piece) -> None:
        """The time until a piece came is its phase's; what came before the first steady sample,
        and is no part of it, found how many steps make one."""
        self._due = _DUE[piece.phase if isinstance(piece, Samples) else "checks"]
        if isinstance(piece, Opened):
            self._phases.until_now("start", piece.phases)
        elif isinstance(piece, LateFacts):
            self._phases.until_now("checks")
        elif piece.phase == "steady" and not self._sampling:
            self._sampling = True
            self._phases.until_now("warm-up", {"sampling": sum(piece.values) * piece.steps})
        else:
            self._phases.until_now(PIECES[piece.phase])

    @property
    def samples(self) -> tuple[Samples, ...]:
        """All so far, those of one kind joined."""
        return tuple(growing.samples() for growing in self._samples.values())

    def ended(self, child: WorkerProcess) -> None:
        """What is known of a process only when it is gone."""
        self.peaks.append(child.peaks)
        self._left += child.left_behind

    def closed(
        self, status: str = "ok", reason: str = "", spent: Mapping[str, float] | None = None
    ) -> Result:
        """`spent` is what a failed opening says of its own time."""
        ended = "end" if status == "ok" else "start" if spent else self._due
        self._phases.until_now(ended, spent)
        last = [reference_load.seconds()] if status == "ok" else []
        left: dict[str, Value] = {LEFT_BEHIND: ", ".join(self._left)} if self._left else {}
        return msgspec.structs.replace(
            self._result,
            samples=self.samples,
            facts={**self._result.facts, **left},
            environment=_with_yardstick(self._result.environment, self._yardsticks + last),
            peaks=joined_peaks(self.peaks),
            seconds=self.seconds,
            phases=self._phases.in_order(),
            status=status,
            reason=reason,
        )


class _Growing:
    """Samples of one kind, in lists: joining tuples piece by piece would copy a long case often."""

    def __init__(self, first: Samples, process: int) -> None:
        self._empty = msgspec.structs.replace(first, values=(), starts=(), process=process)
        self._values: list[float] = []
        self._starts: list[float] = []

    def add(self, piece: Samples) -> None:
        self._values += piece.values
        self._starts += piece.starts

    def samples(self) -> Samples:
        return msgspec.structs.replace(
            self._empty, values=tuple(self._values), starts=tuple(self._starts)
        )


def opened(result: Result, answer: Opened) -> Result:
    """The result with what the worker said when it had opened the case."""
    return msgspec.structs.replace(
        result,
        items=answer.items,
        facts=answer.facts,
        workload_version=answer.workload_version,
        environment=msgspec.structs.replace(
            result.environment, packages=answer.packages, python=answer.python
        ),
    )


def _with_yardstick(found: Environment, measured: list[float]) -> Environment:
    """Timed before each process and after the last, while none of them runs."""
    if not measured:
        return found
    return msgspec.structs.replace(
        found, machine={**found.machine, **reference_load.facts(measured)}
    )

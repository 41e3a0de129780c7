"""What the pieces that come from a case's workers amount to: its result."""

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
from assay.stats.pooling import joined_peaks

Piece = Opened | Samples | LateFacts

# The phase of a sample → of a case's time.
TIME_PHASES = {"open": "start", "first": "first step", "warmup": "warm-up", "steady": "sampling"}
NO_FACTS: Mapping[str, Value] = {}


class ResultBuilder:
    """What is known of a case while it is measured, and in the end its result."""

    def __init__(
        self,
        case: Case,
        procedure: Procedure,
        place: CasePlace,
        known: Mapping[str, Value] = NO_FACTS,  # facts of an earlier result of the case
    ) -> None:
        self.timeout = procedure.timeout  # of the whole case
        self._known = known
        self._peaks: list[dict[str, float]] = []
        self._left: list[str] = []
        self._samples: dict[tuple[object, ...], _SampleBuffer] = {}
        self._result = new_result(case, procedure, place)
        self._start = time.monotonic()
        self._phases = Phases()
        self._reference_loads: list[float] = []
        self._sampling = False
        self._phase = "end"
        self._finished = False

    @property
    def seconds(self) -> float:
        """Since the start of the case."""
        return time.monotonic() - self._start

    @property
    def facts(self) -> Mapping[str, Value]:
        return self._result.facts

    @property
    def samples(self) -> tuple[Samples, ...]:
        """All so far, those of one kind joined."""
        return tuple(buffer.samples() for buffer in self._samples.values())

    def time_reference_load(self) -> None:
        """Before each process and after the last, while none of them runs."""
        self._reference_loads.append(reference_load.seconds())

    def begin(self, phase: str) -> None:
        """The phase that the time from now on is, should the case end badly."""
        self._phase = phase

    def spend(self, phase: str) -> None:
        """The time until now was this phase."""
        self._phases.until_now(phase)
        self._sampling |= phase == "warm-up"

    def add(self, piece: Piece, process: int = 0, turn: int = 0) -> None:
        """Samples of different processes or turns are not joined."""
        self._charge_phase(piece)
        if isinstance(piece, Opened):
            self._sampling = False
            self._result = _with_opened(self._result, piece, self._known)
        elif isinstance(piece, LateFacts):
            self._add_facts(piece.facts)
        else:
            kind = (piece.metric, piece.phase, piece.steps, process, turn)
            self._samples.setdefault(kind, _SampleBuffer(piece, process)).add(piece)

    def end_process(self, worker: WorkerProcess) -> None:
        """What is known of a process only when it has ended."""
        self._peaks.append(worker.peaks)
        self._left += worker.left_behind

    def finish(
        self, status: str = "ok", reason: str = "", spent: Mapping[str, float] | None = None
    ) -> Result:
        """The first ending counts. `spent` is what a failed opening says of its own time."""
        if self._finished:
            return self._result
        self._finished = True
        self._phases.until_now(
            "end" if status == "ok" else "start" if spent else self._phase, spent
        )
        if self._left:
            self._add_facts({LEFT_BEHIND: ", ".join(self._left)})
        self._result = msgspec.structs.replace(
            self._result,
            samples=self.samples,
            environment=_with_reference(self._result.environment, self._reference_loads),
            peaks=joined_peaks(self._peaks),
            seconds=self.seconds,
            phases=self._phases.in_order(),
            status=status,
            reason=reason,
        )
        return self._result

    def _add_facts(self, facts: Mapping[str, Value]) -> None:
        self._result = msgspec.structs.replace(self._result, facts={**self.facts, **facts})

    def _charge_phase(self, piece: Piece) -> None:
        """The time until a piece came belongs to its phase. Where nothing said that warm-up was
        over, what came before the first steady samples, and is no part of them, was warm-up."""
        if isinstance(piece, Opened):
            self._phases.until_now("start", piece.phases)
        elif isinstance(piece, LateFacts):
            self._phases.until_now("checks")
        elif piece.phase == "steady" and not self._sampling:
            self._sampling = True
            self._phases.until_now("warm-up", {"sampling": sum(piece.values) * piece.steps})
        else:
            self._phases.until_now(TIME_PHASES[piece.phase])


class _SampleBuffer:
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


def new_result(case: Case, procedure: Procedure, place: CasePlace) -> Result:
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
    here = environment.here()
    variables = redaction.safe_values(process_env.variables(case, folder))
    return msgspec.structs.replace(here, variables=here.variables | variables)


def _with_opened(result: Result, answer: Opened, known: Mapping[str, Value]) -> Result:
    """With what the worker said when it had opened the case; of several processes of a case, the
    first alone is asked all."""
    return msgspec.structs.replace(
        result,
        items=answer.items,
        facts={**known, **result.facts, **answer.facts},
        workload_version=answer.workload_version,
        environment=msgspec.structs.replace(
            result.environment, packages=answer.packages, python=answer.python
        ),
    )


def _with_reference(here: Environment, loads: list[float]) -> Environment:
    if not loads:
        return here
    machine = {**here.machine, **reference_load.facts(loads)}
    return msgspec.structs.replace(here, machine=machine)

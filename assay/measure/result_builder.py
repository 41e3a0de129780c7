"""Build the result of a case from the messages of its workers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core import redaction
from assay.core.executor import CaseDir
from assay.core.messages import LateFacts, Opened
from assay.core.phases import Phases
from assay.core.records import LEFT_BEHIND, Case, Environment, Procedure, Result, Samples, Value
from assay.measure import process_env
from assay.measure.machine import environment, reference_load
from assay.measure.process import WorkerProcess
from assay.stats.pooling import pool_peaks

Piece = Opened | Samples | LateFacts

# The phase of a sample → the phase of a case's time.
TIME_PHASES = {"open": "start", "first": "first step", "warmup": "warm-up", "steady": "sampling"}
NO_FACTS: Mapping[str, Value] = {}


class ResultBuilder:
    """Accumulates samples and facts of one case into a Result."""

    def __init__(
        self,
        case: Case,
        procedure: Procedure,
        case_dir: CaseDir,
        known: Mapping[str, Value] = NO_FACTS,  # facts of an earlier result of the case
    ) -> None:
        self.timeout = procedure.timeout  # of the whole case
        self._known = known
        self._peaks: list[dict[str, float]] = []
        self._left: list[str] = []
        self._samples: dict[tuple[object, ...], _SampleBuffer] = {}
        self._result = new_result(case, procedure, case_dir)
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
        """All so far, those of the same kind joined."""
        return tuple(buffer.samples() for buffer in self._samples.values())

    def time_reference_load(self) -> None:
        """Call before each process and after the last, while none runs."""
        self._reference_loads.append(reference_load.seconds())

    def begin(self, phase: str) -> None:
        """The phase that the time from now on is charged to if the case fails."""
        self._phase = phase

    def spend(self, phase: str) -> None:
        """Charge the time until now to this phase."""
        self._phases.charge(phase)
        self._sampling |= phase == "warm-up"

    def add(self, piece: Piece, process: int = 0, turn: int = 0) -> None:
        """Samples of different processes or turns are not joined."""
        self._charge_phase(piece)
        if isinstance(piece, Opened):
            self._sampling = False
            self._result = _add_opened(self._result, piece, self._known)
        elif isinstance(piece, LateFacts):
            self._add_facts(piece.facts)
        else:
            kind = (piece.metric, piece.phase, piece.steps, process, turn)
            self._samples.setdefault(kind, _SampleBuffer(piece, process)).add(piece)

    def end_process(self, worker: WorkerProcess) -> None:
        """Add what is only known after the end of a process."""
        self._peaks.append(worker.peaks)
        self._left += worker.left_behind
        if share := worker.clocks.suspicious_share:
            self._add_facts({"clock_share": share})

    def finish(
        self, status: str = "ok", reason: str = "", spent: Mapping[str, float] | None = None
    ) -> Result:
        """The first status counts. `spent`: times that a failed opening reported."""
        if self._finished:
            return self._result
        self._finished = True
        self._phases.charge("end" if status == "ok" else "start" if spent else self._phase, spent)
        if self._left:
            self._add_facts({LEFT_BEHIND: ", ".join(self._left)})
        self._result = msgspec.structs.replace(
            self._result,
            samples=self.samples,
            environment=_add_reference(self._result.environment, self._reference_loads),
            peaks=pool_peaks(self._peaks),
            seconds=self.seconds,
            phases=self._phases.sorted_seconds(),
            status=status,
            reason=reason,
        )
        return self._result

    def _add_facts(self, facts: Mapping[str, Value]) -> None:
        self._result = msgspec.structs.replace(self._result, facts={**self.facts, **facts})

    def _charge_phase(self, piece: Piece) -> None:
        """Charge the time until this piece to its phase. If the end of warm-up was not reported,
        the time before the first steady samples was warm-up."""
        if isinstance(piece, Opened):
            self._phases.charge("start", piece.phases)
        elif isinstance(piece, LateFacts):
            self._phases.charge("checks")
        elif piece.phase == "steady" and not self._sampling:
            self._sampling = True
            self._phases.charge("warm-up", {"sampling": sum(piece.values) * piece.steps})
        else:
            self._phases.charge(TIME_PHASES[piece.phase])


class _SampleBuffer:
    """Samples of one kind, in lists: appending to tuples would copy them often."""

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


def new_result(case: Case, procedure: Procedure, case_dir: CaseDir) -> Result:
    return Result(
        id=case_dir.id,
        case=case,
        procedure=procedure,
        status="ok",
        started=datetime.now(UTC).isoformat(timespec="milliseconds"),
        environment=_environment(case, case_dir.folder),
    )


def _environment(case: Case, folder: Path) -> Environment:
    """This machine, with the variables that the worker gets in addition to the user's."""
    here = environment.current_environment()
    variables = redaction.safe_values(process_env.variables(case, folder))
    return msgspec.structs.replace(here, variables=here.variables | variables)


def _add_opened(result: Result, answer: Opened, known: Mapping[str, Value]) -> Result:
    """With what the worker reported after opening the case; `known` is from the first process."""
    return msgspec.structs.replace(
        result,
        items=answer.items,
        facts={**known, **result.facts, **answer.facts},
        workload_version=answer.workload_version,
        environment=msgspec.structs.replace(
            result.environment, packages=answer.packages, python=answer.python
        ),
    )


def _add_reference(here: Environment, loads: list[float]) -> Environment:
    if not loads:
        return here
    machine = {**here.machine, **reference_load.facts(loads)}
    return msgspec.structs.replace(here, machine=machine)

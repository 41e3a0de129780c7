"""One case → fresh processes → Result, whatever happens in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay import environment, redaction, registry, watcher, world
from assay.analysis import estimates
from assay.child import Child
from assay.errors import EndingError
from assay.protocol import Checked, Opened
from assay.records import Case, Environment, Procedure, Result, Samples
from assay.schedule import Piece, Pieces, Watch, Worker, alone

# What is asked of the worker of a case instead of measuring it.
Conduct = Callable[[Worker], Pieces]


def measure_case(
    case: Case,
    procedure: Procedure,
    result_id: str,
    folder: Path,
    watch: Watch,
    conduct: Conduct | None = None,
    lacking: str = "",
) -> Result:
    """The whole life of a case. Nothing a case does raises; an interrupt is an ending too.

    What is `lacking` for it, in words, ends it before a process starts.
    """
    account = Account(case, procedure, result_id, folder)
    try:
        refuse(case, lacking)
        for number in range(procedure.processes):
            part = _part(procedure, account.seconds if number else 0.0)
            earlier = _medians(account.samples)
            place = _place(folder, number)
            for piece in _process(case, part, place, watch, earlier, account.peaks, conduct):
                account.add(piece, number)
    except EndingError as error:
        return account.closed(error.status, error.reason)
    except KeyboardInterrupt as error:
        return account.closed("interrupted", str(error) or "by Ctrl-C")
    return account.closed()


class Account:
    """What is known of a case while it is measured, and in the end its result."""

    def __init__(self, case: Case, procedure: Procedure, result_id: str, folder: Path) -> None:
        self.samples: list[Samples] = []
        self.peaks: list[dict[str, float]] = []
        self._result = blank(case, procedure, result_id, folder)
        self._begun = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since it was opened."""
        return time.monotonic() - self._begun

    def add(self, piece: Piece, process: int = 0) -> None:
        if isinstance(piece, Opened):
            self._result = opened(self._result, piece)
        elif isinstance(piece, Checked):
            facts = {**self._result.facts, **piece.facts}
            self._result = msgspec.structs.replace(self._result, facts=facts)
        else:
            _add(self.samples, msgspec.structs.replace(piece, process=process))

    def closed(self, status: str = "ok", reason: str = "") -> Result:
        return msgspec.structs.replace(
            self._result,
            samples=tuple(self.samples),
            peaks=watcher.joined(self.peaks),
            seconds=self.seconds,
            status=status,
            reason=reason,
        )


def refuse(case: Case, lacking: str = "") -> None:
    """What is known to be impossible ends before a process starts."""
    workload, backend = registry.workload(case.workload), registry.backend(case.backend)
    reason = backend.refuses(case)
    if not reason and not case.options.get("python"):
        reason = backend.missing()
    offered = getattr(workload, "refuses", None)
    if not reason and offered:
        kind = next(kind for kind in workload.kinds if kind in backend.accepts)
        reason = offered(kind, case.params)
    reason = reason or lacking
    if reason:
        raise EndingError("skipped", reason)


def blank(case: Case, procedure: Procedure, result_id: str, folder: Path) -> Result:
    """The result of a case before anything is known of it."""
    return Result(
        id=result_id,
        case=case,
        procedure=procedure,
        status="ok",
        started=datetime.now(UTC).isoformat(timespec="milliseconds"),
        environment=_environment(case, folder),
    )


def opened(result: Result, told: Opened) -> Result:
    """The result with what the worker said when it had opened the case."""
    return msgspec.structs.replace(
        result,
        items=told.items,
        facts=told.facts,
        workload_version=told.workload_version,
        environment=msgspec.structs.replace(
            result.environment, packages=told.packages, python=told.python
        ),
    )


def _process(
    case: Case,
    procedure: Procedure,
    folder: Path,
    watch: Watch,
    earlier: list[float],
    peaks: list[dict[str, float]],
    conduct: Conduct | None,
) -> Pieces:
    """The life of one process; the medians of those before it count when it has enough."""
    child = Child(case, folder, procedure.timeout)
    try:
        with child as worker:
            yield from (
                conduct(worker)
                if conduct
                else alone(
                    worker, case, procedure, watch, lambda values: estimates.so_far(values, earlier)
                )
            )
    finally:
        peaks.append(child.peaks)


def _medians(samples: list[Samples]) -> list[float]:
    """Of the step times of the processes so far."""
    return [
        float(estimates.so_far(part.values).value)
        for part in samples
        if (part.metric, part.phase) == ("step_time", "steady")
    ]


def _part(procedure: Procedure, spent: float) -> Procedure:
    """What one process may use: its share of the budget, and all the time the case has left."""
    left = procedure.timeout - spent
    if left <= 0:
        raise EndingError("timeout", f"not finished after {procedure.timeout:g} s")
    budget = procedure.budget / procedure.processes
    return msgspec.structs.replace(procedure, budget=budget, timeout=left)


def _place(folder: Path, number: int) -> Path:
    """A folder for the log of each process; that of the first is the case's own."""
    place = folder / f"process-{number}" if number else folder
    place.mkdir(exist_ok=True)
    return place


def _environment(case: Case, folder: Path) -> Environment:
    """This machine, with the variables the worker gets on top of the user's own."""
    found = environment.here()
    given = redaction.safe_values(world.variables(case, folder))
    return msgspec.structs.replace(found, variables=found.variables | given)


def _add(samples: list[Samples], part: Samples) -> None:
    """Join a part to the samples before it that are of its kind; the latest are looked at first."""
    for place in reversed(range(len(samples))):
        before = samples[place]
        if _kind(before) == _kind(part):
            samples[place] = msgspec.structs.replace(
                before, values=before.values + part.values, starts=before.starts + part.starts
            )
            return
    samples.append(part)


def _kind(part: Samples) -> tuple[str, str, int, int]:
    return part.metric, part.phase, part.steps, part.process

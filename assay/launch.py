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
from assay.protocol import Opened
from assay.records import Case, Environment, Procedure, Result, Samples
from assay.schedule import Pieces, Watch, Worker, alone

# What is asked of the worker of a case instead of measuring it.
Conduct = Callable[[Worker], Pieces]


def measure_case(
    case: Case,
    procedure: Procedure,
    result_id: str,
    folder: Path,
    watch: Watch,
    conduct: Conduct | None = None,
) -> Result:
    """The whole life of a case. Nothing a case does raises; an interrupt is an ending too."""
    result = blank(case, procedure, result_id, folder)
    begun = time.monotonic()
    samples: list[Samples] = []
    peaks: list[dict[str, float]] = []
    ending: dict[str, str] = {}
    try:
        refuse(case)
        for number in range(procedure.processes):
            part = _part(procedure, time.monotonic() - begun if number else 0.0)
            earlier = _medians(samples)
            place = _place(folder, number)
            for piece in _process(case, part, place, watch, earlier, peaks, conduct):
                if isinstance(piece, Opened):
                    result = opened(result, piece)
                else:
                    _add(samples, msgspec.structs.replace(piece, process=number))
    except EndingError as error:
        ending = {"status": error.status, "reason": error.reason}
    except KeyboardInterrupt as error:
        ending = {"status": "interrupted", "reason": str(error) or "interrupted by Ctrl-C"}
    return msgspec.structs.replace(
        result,
        samples=tuple(samples),
        peaks=watcher.joined(peaks),
        seconds=time.monotonic() - begun,
        **ending,
    )


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


def refuse(case: Case) -> None:
    """What is known to be impossible ends before a process starts."""
    backend = registry.backend(case.backend)
    reason = backend.refuses(case)
    if not reason and not case.options.get("python"):
        reason = backend.missing()
    if reason:
        raise EndingError("skipped", reason)


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
    """Join a part to the samples before it where they are of one kind."""
    last = samples[-1] if samples else None
    same = last and (last.metric, last.phase, last.steps, last.process) == (
        part.metric,
        part.phase,
        part.steps,
        part.process,
    )
    if last and same:
        samples[-1] = msgspec.structs.replace(
            last, values=last.values + part.values, starts=last.starts + part.starts
        )
    else:
        samples.append(part)

"""Work that another machine does: what is sent there, and what comes back as if it were ours."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from assay.core.errors import AssayError
from assay.core.progress import ProgressCallback
from assay.core.records import Case, Plan, Result, Status
from assay.core.settings import home
from assay.measure import batch_size, modes
from assay.measure.case import blank, measure_case
from assay.measure.machine.doctor import peaks_for
from assay.stores.folders import CasePlace


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


def measure(plan: Plan, case: Case, place: CasePlace, progress: ProgressCallback) -> Result:
    """One case of a plan, on the machine that this is called on."""
    sized, search = batch_size.settled(case, place.folder, plan.procedure, progress)
    request = modes.request(plan, sized, place.folder, progress)
    found = measure_case(sized, plan.procedure, place, progress, request.conduct, request.lacking)
    return msgspec.structs.replace(found, facts={**found.facts, **search, **request.facts})


def measure_there(
    places: Sequence[CasePlace], progress: ProgressCallback, plan: Plan, case: Case
) -> Result:
    """`measure` on a node: what cannot be there is an ending of this case, not of the run."""
    try:
        found = measure(plan, case, places[0], progress)
    except AssayError as error:
        skipped = blank(case, plan.procedure, places[0])
        reason = _not_there(case) or f"{error} {error.hint}"
        found = msgspec.structs.replace(skipped, status="skipped", reason=reason)
    return with_peaks(found)


def _not_there(case: Case) -> str:
    """Of a model or file of one's own, which is not sent."""
    file = case.workload.partition(":")[0]
    if os.sep not in file or Path(file).exists():
        return ""
    return (
        f"{file} is not on {platform.node()}: a model or file of your own has to lie at the same "
        "path on every node, such as on a disk that they share"
    )


def with_peaks(result: Result) -> Result:
    """What the doctor of this machine knows of it."""
    machine = {**result.environment.machine, **peaks_for(home())}
    here = msgspec.structs.replace(result.environment, machine=machine)
    return msgspec.structs.replace(result, environment=here)


def ending(unit: Unit, plan: Plan, status: Status, reason: str) -> Result:
    """Of a case of which nothing came back: its environment is that of this machine."""
    made = blank(unit.case, plan.procedure, unit.places[0])
    return msgspec.structs.replace(made, status=status, reason=reason)

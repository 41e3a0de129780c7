"""Work that another machine does: what is sent there, and what comes back as if it were ours."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.executor import CasePlace, Elsewhere, LostUnit, Unit
from assay.core.progress import ProgressCallback
from assay.core.records import Case, Plan, Result, Status
from assay.core.settings import home
from assay.measure.case import measure
from assay.measure.machine.doctor import peaks_for
from assay.measure.result_builder import new_result

Machines = AbstractContextManager[Elsewhere | None]
HERE: Machines = nullcontext()  # this machine


def executor(on: str, need: Mapping[str, str] | None = None) -> Machines:
    """The machines that measure: the nodes of the cluster at the address `on`, each with what
    `need` says, or this one. A wrong address is an error of the call; the cluster is reached when
    the context is entered."""
    if on:
        from assay.platforms.cluster.address import check_where, machines

        check_where(on, need)
        return machines(on, need)
    if need:
        raise UsageError(
            f"--need {next(iter(need))} was given without --on.",
            hint="It says what a node of a cluster has to have: --on ray://HOST:10001",
        )
    return HERE


def measure_there(
    places: Sequence[CasePlace], progress: ProgressCallback, plan: Plan, case: Case
) -> Result:
    """`measure` on a node: what cannot be there is an ending of this case, not of the run."""
    try:
        found = measure(plan, case, places[0], progress)
    except AssayError as error:
        skipped = new_result(case, plan.procedure, places[0])
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
    made = new_result(unit.case, plan.procedure, unit.places[0])
    return msgspec.structs.replace(made, status=status, reason=reason)


def run_one(machines: Elsewhere | None, unit: Unit) -> Any:
    """What a single pair or heat gave, on whichever node."""
    assert machines is not None
    ((_, found),) = machines.spread(iter([unit]))
    if isinstance(found, LostUnit):
        raise NotPossibleError(
            f"A pair or heat was {found.reason}.",
            hint="What was measured is kept; go on with --resume last.",
        )
    return found

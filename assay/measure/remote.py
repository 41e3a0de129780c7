"""Measure on another machine: what is sent there, and how its result becomes one of ours."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.executor import CaseDir, Executor, NodeLost, RemoteTask
from assay.core.progress import ProgressCallback
from assay.core.records import Case, Plan, Result, Status
from assay.core.settings import home
from assay.measure.case import measure
from assay.measure.machine.doctor import peaks_for
from assay.measure.plausible import refuse_impossible
from assay.measure.result_builder import new_result

Machines = AbstractContextManager[Executor | None]
THIS_MACHINE: Machines = nullcontext()  # this machine


def executor(on: str, need: Mapping[str, str] | None = None) -> Machines:
    """The nodes of the cluster at the address `on` that have the resources of `need`; this machine
    without one. A wrong address raises at once; the cluster is connected when the context is
    entered."""
    if on:
        from assay.platforms.cluster.address import check_where, machines

        check_where(on, need)
        return machines(on, need)
    if need:
        raise UsageError(
            f"--need {next(iter(need))} was given without --on.",
            hint="It states the resources of a cluster's node: --on ray://HOST:10001",
        )
    return THIS_MACHINE


def measure_there(
    case_dirs: Sequence[CaseDir], progress: ProgressCallback, plan: Plan, case: Case
) -> Result:
    """`measure` on a node: an error is the result of this case and does not end the run."""
    try:
        result = measure(plan, case, case_dirs[0], progress)
    except AssayError as error:
        skipped = new_result(case, plan.procedure, case_dirs[0])
        reason = _missing_file(case) or f"{error} {error.hint}"
        result = msgspec.structs.replace(skipped, status="skipped", reason=reason)
    return add_peaks(result)


def _missing_file(case: Case) -> str:
    """Files of the user are not sent."""
    file = case.workload.partition(":")[0]
    if os.sep not in file or Path(file).exists():
        return ""
    return (
        f"{file} is not on {platform.node()}: a model or file of your own has to be at the same "
        "path on every node, for example on a shared disk"
    )


def add_peaks(result: Result) -> Result:
    """With the peaks that the doctor measured on this machine, and checked against them."""
    machine = {**result.environment.machine, **peaks_for(home())}
    here = msgspec.structs.replace(result.environment, machine=machine)
    return refuse_impossible(msgspec.structs.replace(result, environment=here))


def failed_result(unit: RemoteTask, plan: Plan, status: Status, reason: str) -> Result:
    """Of a case without a result from its node: its environment is that of this machine."""
    result = new_result(unit.case, plan.procedure, unit.case_dirs[0])
    return msgspec.structs.replace(result, status=status, reason=reason)


def run_single(machines: Executor | None, unit: RemoteTask) -> Any:
    """The result of a single pair or heat, on any node."""
    assert machines is not None
    ((_, result),) = machines.submit(iter([unit]))
    if isinstance(result, NodeLost):
        raise NotPossibleError(
            f"A pair or heat was {result.reason}.",
            hint="What was measured is stored; continue with --resume last.",
        )
    return result

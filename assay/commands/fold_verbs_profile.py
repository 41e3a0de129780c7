"""Profiles: one case under its framework's profiler, the trace kept and its operations listed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from assay.core import registry
from assay.core.contracts import ProfilingBackend
from assay.core.errors import NotPossibleError, UsageError
from assay.core.findings import Profile
from assay.core.progress import ProgressCallback, ignore
from assay.core.protobuf import DamagedError
from assay.core.records import Case, Plan, Procedure, Result
from assay.core.settings import Home
from assay.core.units import as_seconds
from assay.formats.traces import read as traces
from assay.formats.traces.operations import operations
from assay.measure import plan
from assay.measure.case import TRACE
from assay.measure.fold_engine_cases import measured
from assay.measure.inputs import CaseLike
from assay.measure.machine.environment import safe_tags


def profile(
    case: CaseLike,
    steps: int = 5,
    output: str | Path = "",
    timeout: float | str = 600.0,
    trust: bool = False,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: Home = None,
    progress: ProgressCallback = ignore,
) -> Profile:
    """Run a few steps of a case under its framework's profiler; the trace is kept, and copied
    to `output` where that is given. `trust` lets a `.pt2` file run code.

    >>> for operation in assay.profile("mnist-mlp@jax").operations[:10]:
    ...     print(operation.name, operation.seconds, operation.share, operation.count)
    """
    made = Plan(
        cases=(_checked(plan.as_case(case, trust), steps, output),),
        procedure=Procedure(
            samples=steps, steps_per_sample=1, timeout=as_seconds(timeout, "timeout", "10m")
        ),
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="profile",
    )
    (found,) = measured(made, home, progress)
    trace = found.place.folder.absolute() / TRACE
    return _read(found.reading.result, trace, Path(output) if output else None)


def _checked(case: CaseLike, steps: int, output: str | Path) -> Case:
    if steps < 1:
        raise UsageError(f"steps is {steps}, but has to be 1 or more.", hint="--steps 5")
    if output and Path(output).exists() and not Path(output).is_dir():
        raise UsageError(f"'{output}' is a file, but the trace needs a folder.", hint="-o traces")
    found = plan.cases([case])
    if len(found) > 1:
        raise UsageError(
            f"'{found[0].workload}' stands for {len(found)} cases, but one is profiled.",
            hint=f"Choose one: {', '.join(one.key for one in found)}",
        )
    if not isinstance(registry.backend(found[0].backend), ProfilingBackend):
        raise NotPossibleError(
            f"The backend '{found[0].backend}' has no profiler.",
            hint=f"These have: {', '.join(_with_profiler())}.",
        )
    return found[0]


def _with_profiler() -> list[str]:
    names = registry.names("backends")
    return [name for name in names if isinstance(registry.backend(name), ProfilingBackend)]


def _read(result: Result, folder: Path, output: Path | None) -> Profile:
    if result.status != "ok":
        return Profile(result=result)
    try:
        trace = traces.complete(folder)
        found = operations(traces.events(folder))
    except DamagedError as error:
        return Profile(result=result, folder=str(folder), notes=(f"no operations: {error}",))
    if output:
        shutil.copytree(folder, output, dirs_exist_ok=True)
    notes = () if found else ("the profiler saw no operation",)
    return Profile(
        result=result,
        folder=str(output or folder),
        trace=trace.file.replace(str(folder), str(output or folder), 1) if trace else "",
        plugin=trace.plugin if trace else "",
        operations=tuple(found),
        notes=notes,
    )

"""Profiles: one case under its framework's profiler, the trace kept and its operations listed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from assay import batchsize, environment, launch, plan, registry, schedule, settings
from assay.contracts import Profiling
from assay.errors import NotPossibleError, UsageError
from assay.findings import Profile
from assay.records import Case, Plan, Procedure, Result
from assay.stores import folders
from assay.stores.sql import SqlStore
from assay.traces import folder as traces
from assay.traces.operations import operations
from assay.wire import DamagedError

FOLDER = "profile"  # in the case's own


def profile(
    case: str | Case,
    steps: int = 5,
    output: str | Path = "",
    timeout: float = 600.0,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: str | Path | None = None,
    watch: Callable[..., None] | None = None,
) -> Profile:
    """Run a few steps of a case under its framework's profiler; the trace is kept, and copied
    to `output` where that is given.

    >>> for operation in assay.profile("mnist-mlp@jax").operations[:10]:
    ...     print(operation.name, operation.seconds, operation.share, operation.count)
    """
    asked = Plan(
        cases=(_checked(case, steps, output),),
        procedure=Procedure(samples=steps, steps_per_sample=1, timeout=timeout),
        label=label,
        tags=environment.safe_tags(dict(tags or {})),
        verb="profile",
    )
    store = SqlStore(settings.home(home))
    try:
        run = store.new_run(asked)
        with folders.locked(run):
            place = folders.new_case(run)
            result = _run(asked, place.absolute(), watch or _ignore)
            store.append(result)
    finally:
        store.close()
    if result.status == "interrupted":
        raise KeyboardInterrupt(result.reason)
    return _read(result, place / FOLDER, Path(output) if output else None)


def _checked(case: str | Case, steps: int, output: str | Path) -> Case:
    if steps < 1:
        raise UsageError(f"{steps} steps were asked for, but one is the least.", hint="--steps 5")
    if output and Path(output).exists() and not Path(output).is_dir():
        raise UsageError(f"'{output}' is a file, but the trace needs a folder.", hint="-o traces")
    found = plan.cases([case])
    if len(found) > 1:
        raise UsageError(
            f"'{case}' stands for {len(found)} cases, but one is profiled.",
            hint=f"Choose one: {', '.join(one.key for one in found)}",
        )
    if not isinstance(registry.backend(found[0].backend), Profiling):
        raise NotPossibleError(
            f"The backend '{found[0].backend}' has no profiler.",
            hint=f"These have: {', '.join(_with_profiler())}.",
        )
    return found[0]


def _with_profiler() -> list[str]:
    names = registry.names("backends")
    return [name for name in names if isinstance(registry.backend(name), Profiling)]


def _run(asked: Plan, place: Path, watch: schedule.Watch) -> Result:
    case, search = batchsize.settled(asked.cases[0], place, asked.procedure, watch)
    folder, steps = str(place / FOLDER), asked.procedure.samples

    def conduct(worker: schedule.Worker) -> schedule.Pieces:
        return schedule.profiled(worker, case, folder, steps, watch)

    result = launch.measure_case(
        case, asked.procedure, f"{place.parent.name}/{place.name}", place, watch, conduct
    )
    facts = {**result.facts, **search, "profiled": True}
    return msgspec.structs.replace(result, facts=facts, label=asked.label, tags=asked.tags)


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


def _ignore(*_: object) -> None:
    pass

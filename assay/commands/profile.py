"""Profile a case with its framework's profiler; store the trace and list its operations."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import handle_signals, print_logs, status_of
from assay.cli.progress import ProgressLine
from assay.core import registry, settings
from assay.core.case_text import CaseLike
from assay.core.contracts import ProfilingBackend
from assay.core.errors import NotPossibleError, UsageError
from assay.core.findings import Output, Table
from assay.core.options import (
    Argument,
    Flag,
    Format,
    Label,
    Seconds,
    StoreUrl,
    Tags,
    Trust,
    accept_old_keywords,
)
from assay.core.progress import ProgressCallback, ignore
from assay.core.protobuf import DamagedError
from assay.core.records import SCHEMA, Case, Plan, Procedure, Result
from assay.core.registry import open_store
from assay.core.units import as_seconds, human
from assay.formats.traces import read as traces
from assay.formats.traces.operations import Operation, operations
from assay.measure import plan
from assay.measure.machine.environment import safe_tags
from assay.measure.recorder import run_cases
from assay.measure.sampling import TRACE
from assay.stores import importing


@accept_old_keywords(home="store")
def profile(
    case: CaseLike,
    steps: Annotated[int, Flag("Number of steps to profile.")] = 5,
    output: Annotated[
        str | Path, Flag("Copy the trace to this folder.", "FOLDER", flags="-o --output")
    ] = "",
    timeout: Annotated[Seconds, Flag("Limit for the profile.")] = "10m",
    trust: Trust = False,
    label: Label = "",
    tags: Tags = None,
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> Profile:
    """Run a few steps of a case under its framework's profiler; the trace is stored, and copied
    to `output` if given. `trust` lets a `.pt2` file run code.

    >>> for operation in assay.profile("mnist-mlp@jax").operations[:10]:
    ...     print(operation.name, operation.seconds, operation.share, operation.count)
    """
    profile_plan = Plan(
        cases=(_check_request(plan.as_case(case, trust), steps, output),),
        procedure=Procedure(
            samples=steps, steps_per_sample=1, timeout=as_seconds(timeout, "timeout", "10m")
        ),
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="profile",
    )
    (reading,) = run_cases(profile_plan, store, progress)
    with closing(open_store(store)) as results:
        trace = results.folder(reading.result.id).absolute() / TRACE
    return _read(reading.result, trace, Path(output) if output else None)


def _check_request(case: CaseLike, steps: int, output: str | Path) -> Case:
    if steps < 1:
        raise UsageError(f"steps is {steps}, but has to be 1 or more.", hint="--steps 5")
    if output and Path(output).exists() and not Path(output).is_dir():
        raise UsageError(f"'{output}' is a file, but the trace needs a folder.", hint="-o traces")
    cases = plan.expand_cases([case])
    if len(cases) > 1:
        raise UsageError(
            f"'{cases[0].workload}' stands for {len(cases)} cases, but profile takes one.",
            hint=f"Choose one: {', '.join(each.key for each in cases)}",
        )
    if not isinstance(registry.backend(cases[0].backend), ProfilingBackend):
        raise NotPossibleError(
            f"The backend '{cases[0].backend}' has no profiler.",
            hint=f"These have: {', '.join(_with_profiler())}.",
        )
    return cases[0]


def _with_profiler() -> list[str]:
    names = registry.names("backends")
    return [name for name in names if isinstance(registry.backend(name), ProfilingBackend)]


def _read(result: Result, folder: Path, output: Path | None) -> Profile:
    if result.status != "ok":
        return Profile(result=result)
    try:
        trace = traces.find_trace(folder)
        profiled = operations(traces.events(folder))
    except DamagedError as error:
        return Profile(result=result, folder=str(folder), notes=(f"no operations: {error}",))
    if output:
        for file in importing.files_of(folder, output, []):  # plain files: no link is followed
            importing.copy_file(file, file.target)
    notes = () if profiled else ("the profiler saw no operation",)
    return Profile(
        result=result,
        folder=str(output or folder),
        trace=trace.file.replace(str(folder), str(output or folder), 1) if trace else "",
        plugin=trace.plugin if trace else "",
        operations=tuple(profiled),
        notes=notes,
    )


COLUMNS = ("operation", "time", "share", "count", "where", "what of the model")


def output(profile: Profile, top: int) -> Output:
    tables = (operations_table(profile, top),) if profile.operations else ()
    return Output(tables=tables, document=document(profile, top))


def operations_table(profile: Profile, top: int) -> Table:
    """The operations that took longest; times are over all profiled steps."""
    every, shown = profile.operations, profile.operations[:top]
    width = len(COLUMNS) if any(operation.source for operation in shown) else len(COLUMNS) - 1
    notes = list(profile.notes)
    if len(every) > len(shown):
        left = sum(operation.share for operation in every[len(shown) :])
        notes.append(f"{len(every) - len(shown)} more operations took {left:.1%} together")
    return Table(
        columns=COLUMNS[:width],
        rows=tuple(_row(operation)[:width] for operation in shown),
        numeric=frozenset({"time", "share", "count"}),
        shortened=frozenset(
            {"operation", "what of the model"}
        ),  # of kernels, some have 600 characters
        notes=tuple(notes),
    )


def document(profile: Profile, top: int) -> dict[str, Any]:
    result = profile.result
    return {
        "schema": SCHEMA,
        "kind": "profile",
        **{name: getattr(result, name) for name in ("id", "status", "reason", "started")},
        "case": msgspec.to_builtins(result.case),
        "step_times": result.values("profiled_step_time"),
        **{name: getattr(profile, name) for name in ("folder", "trace", "plugin", "notes")},
        "operations": msgspec.to_builtins(profile.operations[:top]),
    }


def viewer_hints(profile: Profile) -> list[str]:
    if not profile.trace:
        return []
    return [
        f"Perfetto:     open https://ui.perfetto.dev and drop {profile.trace} there",
        f"TensorBoard:  tensorboard --logdir {shlex.quote(profile.folder)}"
        f"  (pip install tensorboard {profile.plugin})",
    ]


def _row(operation: Operation) -> tuple[str, ...]:
    times = human(operation.seconds, "s"), f"{operation.share:.1%}", str(operation.count)
    return (operation.name, *times, operation.place, operation.source)


@click_command(
    profile,
    epilog="""\b
Examples:
  assay profile vgg16@keras-jax
  assay profile mnist-mlp@torch --steps 20 --top 30
  assay profile ./my.py:MyNet@keras-tensorflow:precision=bfloat16 -o traces""",
)
def command(
    case: Annotated[str, Argument(complete="cases")],
    keywords: Keywords,
    *,
    top: Annotated[int, Flag("Number of operations to show.", min=1)] = 15,
    store: str | None,
    format: Format = "text",
) -> int:
    """Run some steps of CASE under its framework's profiler, after a warm-up.

    Shows the operations that took longest and stores the trace, for TensorBoard and Perfetto. A
    profiler costs time: to know how fast CASE is, use assay run.
    """
    handle_signals()
    line = ProgressLine()
    measurement = profile(case, **keywords, progress=line)
    line.done(measurement.result)
    printing.show(output(measurement, top), format, in_file=printing.READABLE)
    _print_details(measurement, settings.runs(store))
    return status_of([measurement.result])


def _print_details(profile: Profile, runs: Path) -> None:
    result = profile.result
    print_logs([result], runs)
    if result.reason:
        options.print_message(f"{result.status}: {result.reason}")
    options.print_message(*viewer_hints(profile), f"kept as {result.id}")


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A case run under its framework's profiler."""

    result: Result
    folder: str = ""  # what TensorBoard opens
    trace: str = ""  # the file Perfetto opens
    plugin: str = ""  # of TensorBoard, for this kind of trace
    operations: tuple[Operation, ...] = ()  # all, those that took longest first
    notes: tuple[str, ...] = ()

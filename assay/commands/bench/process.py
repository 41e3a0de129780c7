"""Benchmark methods: each is run in a process of its own, and each ending is a result."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core import codec
from assay.core.errors import AssayError, EndingError, UsageError
from assay.core.executor import CaseDir
from assay.core.files import read_plain
from assay.core.messages import Open
from assay.core.records import REPORTED_PREFIX, Case, Environment, Procedure, Result, Samples, Value
from assay.core.redaction import safe_value
from assay.formats.perfzero import messages, proto, report
from assay.formats.perfzero.entries import (
    BenchmarkEntry,
    failure_reasons,
    label_entries,
    samples,
    texts,
)
from assay.formats.perfzero.messages import (
    FOUND,
    BenchAnswer,
    BenchRequest,
    BenchResult,
    BenchSetting,
    FindMethods,
    FoundMethods,
    RunMethod,
)
from assay.formats.perfzero.names import Filter, Method
from assay.measure import process_env
from assay.measure.machine import environment
from assay.measure.machine.kernel import cores
from assay.measure.process import WorkerProcess

BACKEND = "bench"
MAX_BYTES = 256 << 20  # of a file that the benchmark wrote
PROFILES = "profiler_data"  # as PerfZero calls it

# A case's folder → where its files go, and what the class is told as output_dir.
Outputs = Callable[[Path], tuple[Path, str]]


class BenchProcess(WorkerProcess):
    """The process of one method; its reports go to `output` and into the case's folder.

    All paths are absolute: a benchmark may change its working directory.
    """

    def __init__(self, case: Case, folder: Path, timeout: float, output: Path) -> None:
        self._output_folder = output
        self._case = case
        super().__init__(case, folder, timeout)

    def run(self) -> None:
        """What the folder asks for. Raises EndingError when it cannot be done."""
        for _ in self.ask(Open(case=self._case)):
            pass

    def _start(self, case: Case, folder: Path) -> tuple[list[str], dict[str, str]]:
        command = [
            *process_env.interpreter(case, folder, "assay.worker.bench"),
            str(folder.absolute()),
        ]
        return command, {
            "PYTHONUNBUFFERED": "1",
            report.REPORTS: str(folder.absolute() / messages.REPORTS),
            "TEST_REPORT_FILE_PREFIX": str(self._output_folder / messages.PREFIX),
        }


def write_request(folder: Path, request: BenchRequest) -> None:
    """With json, since it knows NaN: arguments arrive as they are."""
    (folder / messages.REQUEST).write_text(json.dumps(msgspec.to_builtins(request)))


def _write_request_safely(folder: Path, request: BenchRequest) -> None:
    """What was asked for, without secrets; where there is no room for that, not at all."""
    try:
        write_request(folder, request)
    except OSError:
        (folder / messages.REQUEST).unlink(missing_ok=True)


def default_output_dir(folder: Path) -> tuple[Path, str]:
    output = folder.absolute() / "output"
    return output, str(output)


def case_of(method: Method, setting: BenchSetting) -> Case:
    params = safe_arguments(setting.constructor_args)
    chosen = ",".join(f"{name}={value}" for name, value in params.items())
    return Case(
        workload=method.name,
        backend=BACKEND,
        params=params,
        options={"python": setting.python} if setting.python else {},
        key=f"{method.name}{':' if chosen else ''}{chosen}@{BACKEND}",
    )


def run_once(
    method: Method,
    trial: int,
    setting: BenchSetting,
    case_dir: CaseDir,
    outputs: Outputs = default_output_dir,
) -> BenchResult:
    """The whole life of one method. Nothing it does raises; an interrupt is an ending too."""
    case, folder = case_of(method, setting), case_dir.folder
    output, output_text = outputs(folder)
    output.mkdir(parents=True, exist_ok=True)
    started, start = datetime.now(UTC), time.monotonic()
    request = RunMethod(
        method=method,
        setting=setting,
        output_dir=output_text,
        profile_dir=str(output.absolute() / PROFILES),
    )
    ending, peaks = _ending(request, case, folder, output)
    _write_request_safely(
        folder, msgspec.structs.replace(request, setting=_redact_setting(setting))
    )
    entries, notes = read_reports(folder, output)
    answer = _answer(folder)
    notes += answer.notes
    if not entries and ending["status"] == "ok":
        notes.append("no report was made, so that exceptions alone decide whether it succeeded")
    result = Result(
        id=case_dir.id,
        case=case,
        procedure=Procedure(timeout=setting.timeout),
        started=started.isoformat(timespec="milliseconds"),
        seconds=time.monotonic() - start,
        environment=_environment(answer),
        peaks=peaks,
        facts=_facts(method, trial, entries, answer, notes),
        samples=_samples(method, entries, answer),
        **_check_ending(ending, entries),  # type: ignore[arg-type]
    )
    return BenchResult(
        result=result,
        method=method,
        trial=trial,
        entries=entries,
        answer=answer,
        folder=str(folder),
        output_dir=str(output),
        started=started.timestamp(),
        has_exception=ending["status"] not in {"ok", "skipped"},
        notes=tuple(notes),
    )


def read_reports(folder: Path, output: Path) -> tuple[tuple[BenchmarkEntry, ...], list[str]]:
    """All reports in the order they appeared, and what could not be read, in words."""
    reports: list[BenchmarkEntry] = []
    notes: list[str] = []
    for file in sorted(output.glob(f"{messages.PREFIX}*")):
        try:
            data = read_plain(file, MAX_BYTES)
            reports += proto.decode(data, file.stat().st_mtime_ns / 1e9)
        except (OSError, proto.DamagedError) as error:
            notes.append(f"the report {file.name} was passed over: {error}")
    lines = folder / messages.REPORTS
    for line in _lines(lines, notes):
        try:
            reports.append(report.read_line(line))
        except ValueError:  # the process died while it wrote
            notes.append("a report that was cut short was passed over")
    entries = tuple(sorted(reports, key=lambda entry: entry.time))
    try:
        (folder / messages.ENTRIES).write_bytes(codec.encode(entries, indent=2))
    except OSError as error:  # they are in the result too
        notes.append(f"{messages.ENTRIES} could not be written ({error.strerror})")
    return entries, notes


def _ending(
    request: RunMethod, case: Case, folder: Path, output: Path
) -> tuple[dict[str, str], dict[str, float]]:
    ending, child = {"status": "ok"}, None
    try:
        write_request(folder, request)
        with BenchProcess(case, folder, request.setting.timeout, output) as child:
            child.run()
    except EndingError as error:
        ending = {"status": error.status, "reason": error.reason}
    except OSError as error:  # of this process: no descriptor, no room on the disk
        ending = {"status": "failed", "reason": f"assay could not go on: {error.strerror}"}
    except KeyboardInterrupt as error:
        ending = {"status": "interrupted", "reason": str(error) or "by Ctrl-C"}
    return ending, child.peaks if child else {}


def _check_ending(ending: dict[str, str], entries: tuple[BenchmarkEntry, ...]) -> dict[str, str]:
    reasons = failure_reasons(entries)
    if ending["status"] != "ok" or not reasons:
        return ending
    return {"status": "failed", "reason": "; ".join(reasons)}


def _lines(path: Path, notes: list[str]) -> list[bytes]:
    try:
        return read_plain(path, MAX_BYTES).splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        notes.append(f"{path.name} was passed over: {error.strerror}")
        return []


def _answer(folder: Path) -> BenchAnswer:
    try:
        return msgspec.json.decode(
            read_plain(folder / messages.ANSWER, MAX_BYTES), type=BenchAnswer
        )
    except (OSError, *codec.UNREADABLE):  # it ended before it could tell, or while it did
        return BenchAnswer()


def _environment(answer: BenchAnswer) -> Environment:
    here = environment.current_environment()
    python: dict[str, Value] = {**answer.python} if answer.python else here.python
    machine = {**here.machine, "cores": cores(Path("/proc/cpuinfo").read_text())}
    return msgspec.structs.replace(here, packages=answer.packages, python=python, machine=machine)


def _facts(
    method: Method,
    trial: int,
    entries: tuple[BenchmarkEntry, ...],
    answer: BenchAnswer,
    notes: Sequence[str],
) -> dict[str, Value]:
    return {
        **texts(label_entries(entries, method.owner, method.method)),
        **{
            f"{REPORTED_PREFIX}{part.metric}": f"{len(part.values)} reported"
            for part in samples(label_entries(entries, method.owner, method.method))
        },
        "trial": trial,
        "reports": len(entries),
        **{f"framework_{name}": value for name, value in answer.framework.items()},
        **({"note": "; ".join(notes)} if notes else {}),
    }


def _samples(
    method: Method, entries: tuple[BenchmarkEntry, ...], answer: BenchAnswer
) -> tuple[Samples, ...]:
    own = samples(label_entries(entries, method.owner, method.method))
    if not answer.began:
        return own
    opened = Samples(metric="open_time", unit="s", phase="open", values=(answer.initialization,))
    if not answer.execution:
        return (opened, *own)
    taken = any(part.metric == "method_time" for part in own)
    name = "command_method_time" if taken else "method_time"
    whole = Samples(metric=name, unit="s", phase="steady", values=(answer.execution,))
    return (opened, *own, whole)


def safe_arguments(arguments: Mapping[str, object]) -> dict[str, Value]:
    """Plain values, without what looks secret; anything deeper as JSON."""
    return {
        name: value
        if isinstance(value, int | float)
        else safe_value(name, value if isinstance(value, str) else json.dumps(value))
        for name, value in arguments.items()
    }


def _redact_setting(setting: BenchSetting) -> BenchSetting:
    """As it is kept once the process has read it."""
    return msgspec.structs.replace(
        setting, constructor_args=safe_arguments(setting.constructor_args)
    )


def discover(
    patterns: Iterable[Method | Filter],
    setting: BenchSetting,
    missing: Callable[[str], None] | None = None,
) -> list[Method]:
    """Methods as they are named; those behind filters by a look into the class, elsewhere.

    A filter without any is an error; with `missing` that is told, unless there is no other method.
    """
    methods: list[Method] = []
    errors: list[AssayError] = []
    for pattern in patterns:
        try:
            methods += (
                [pattern] if isinstance(pattern, Method) else _expand_filter(pattern, setting)
            )
        except AssayError as error:
            if missing is None:
                raise
            errors.append(error)
    if errors and not methods:
        raise errors[0]
    if not methods:
        raise UsageError(
            "No benchmark method was named.", hint="As in: my_pkg.bench.Resnet.benchmark_1_gpu"
        )
    for failure in errors:
        if missing:
            missing(str(failure))
    return methods


def _expand_filter(pattern: Filter, setting: BenchSetting) -> list[Method]:
    request = FindMethods(filters=(pattern,), python_path=setting.python_path)
    names = find_methods(request, setting.python).names
    if not names:
        raise UsageError(
            f"No method of {pattern.module}.{pattern.owner} matches '{pattern.pattern}'.",
            hint=f"assay list benchmarks {pattern.module} shows what there is.",
        )
    return [_method(pattern, name) for name in names]


def find_methods(request: FindMethods, python: str = "", timeout: float = 600.0) -> FoundMethods:
    """What a fresh process finds: nothing of it is loaded here, and nothing is constructed."""
    case = Case(workload="discovery", backend=BACKEND, options={"python": python} if python else {})
    with tempfile.TemporaryDirectory(prefix="assay-") as temporary:
        folder = Path(temporary)
        try:
            write_request(folder, request)
            with BenchProcess(case, folder, timeout, folder) as child:
                child.run()
        except EndingError as error:
            names = ", ".join([*(f"{f.module}.{f.owner}" for f in request.filters)])
            kind = UsageError if error.status == "failed" else AssayError
            raise kind(
                f"{names or ', '.join(request.packages)} cannot be looked into: {error.reason}.",
                hint="Is it in the present folder, in PYTHONPATH, or given with --python-path?",
            ) from None
        return msgspec.json.decode(read_plain(folder / FOUND, MAX_BYTES), type=FoundMethods)


def _method(pattern: Filter, name: str) -> Method:
    return Method(pattern.module, pattern.owner, name[len(f"{pattern.module}.{pattern.owner}.") :])

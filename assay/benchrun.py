"""Benchmark methods: each is run in a process of its own, and each ending is a result."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay import codec, environment, world
from assay.benches import asked, proto, report, verdict
from assay.benches.asked import Asked, Benched, Run, Setting, Told
from assay.benches.cpus import cores
from assay.benches.entries import Entry, labelled
from assay.benches.names import Method
from assay.benches.samples import samples, texts
from assay.child import Child
from assay.errors import EndingError
from assay.protocol import Open
from assay.records import Case, Environment, Procedure, Result, Samples, Value
from assay.redaction import safe_value

BACKEND = "bench"
PROFILES = "profiler_data"  # as PerfZero calls it

# A case's folder → where its files go, and what the class is told as output_dir.
Outputs = Callable[[Path], tuple[Path, str]]


class BenchChild(Child):
    """The process of one method; its reports go to `output` and into the case's folder.

    All paths are absolute: a benchmark may change its working directory.
    """

    def __init__(self, case: Case, folder: Path, timeout: float, output: Path) -> None:
        self._output_folder = output
        self._case = case
        super().__init__(case, folder, timeout)

    def carry_out(self) -> None:
        """What the folder asks for. Raises EndingError when it cannot be done."""
        for _ in self.ask(Open(case=self._case)):
            pass

    def _start(self, case: Case, folder: Path) -> tuple[list[str], dict[str, str]]:
        command = [*world.interpreter(case, folder, "assay.benchchild"), str(folder.absolute())]
        return command, {
            **world.own_path(case),
            "PYTHONUNBUFFERED": "1",
            report.REPORTS: str(folder.absolute() / asked.REPORTS),
            "TEST_REPORT_FILE_PREFIX": str(self._output_folder / asked.PREFIX),
        }


def ask(folder: Path, wanted: Asked) -> None:
    (folder / asked.ASKED).write_bytes(msgspec.json.encode(wanted))


def in_its_folder(folder: Path) -> tuple[Path, str]:
    output = folder.absolute() / "output"
    return output, str(output)


def case_of(method: Method, setting: Setting) -> Case:
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
    method: Method, trial: int, setting: Setting, folder: Path, outputs: Outputs = in_its_folder
) -> Benched:
    """The whole life of one method. Nothing it does raises; an interrupt is an ending too."""
    case = case_of(method, setting)
    output, told_output = outputs(folder)
    output.mkdir(parents=True, exist_ok=True)
    started, begun = datetime.now(UTC), time.monotonic()
    wanted = Run(
        method=method,
        setting=setting,
        output_dir=told_output,
        profile_dir=str(output.absolute() / PROFILES),
    )
    ending, peaks = _ending(wanted, case, folder, output)
    ask(folder, msgspec.structs.replace(wanted, setting=_safe(setting)))
    entries, notes = gathered(folder, output)
    told = _told(folder)
    notes += told.notes
    if not entries and ending["status"] == "ok":
        notes.append("no report was made, so that exceptions alone decide whether it succeeded")
    result = Result(
        id=f"{folder.parent.name}/{folder.name}",
        case=case,
        procedure=Procedure(timeout=setting.timeout),
        started=started.isoformat(timespec="milliseconds"),
        seconds=time.monotonic() - begun,
        environment=_environment(told),
        peaks=peaks,
        facts=_facts(method, trial, entries, told, notes),
        samples=_samples(method, entries, told),
        **_judged(ending, entries),  # type: ignore[arg-type]
    )
    return Benched(
        result=result,
        method=method,
        trial=trial,
        entries=entries,
        told=told,
        folder=str(folder),
        output_dir=str(output),
        started=started.timestamp(),
        has_exception=ending["status"] not in {"ok", "skipped"},
        notes=tuple(notes),
    )


def gathered(folder: Path, output: Path) -> tuple[tuple[Entry, ...], list[str]]:
    """All reports in the order they appeared, and what could not be read, in words."""
    found: list[Entry] = []
    notes: list[str] = []
    for file in sorted(output.glob(f"{asked.PREFIX}*")):
        try:
            found += proto.decode(file.read_bytes(), file.stat().st_mtime_ns / 1e9)
        except (OSError, proto.DamagedError) as error:
            notes.append(f"the report {file.name} was passed over: {error}")
    lines = folder / asked.REPORTS
    for line in lines.read_bytes().splitlines() if lines.exists() else ():
        try:
            found.append(report.read_line(line))
        except (ValueError, TypeError, KeyError):  # the process died while it wrote
            notes.append("a report that was cut short was passed over")
    entries = tuple(sorted(found, key=lambda entry: entry.time))
    (folder / asked.ENTRIES).write_bytes(codec.encode(entries, indent=2))
    return entries, notes


def _ending(
    wanted: Run, case: Case, folder: Path, output: Path
) -> tuple[dict[str, str], dict[str, float]]:
    ending, child = {"status": "ok"}, None
    try:
        ask(folder, wanted)
        with BenchChild(case, folder, wanted.setting.timeout, output) as child:
            child.carry_out()
    except EndingError as error:
        ending = {"status": error.status, "reason": error.reason}
    except KeyboardInterrupt as error:
        ending = {"status": "interrupted", "reason": str(error) or "by Ctrl-C"}
    return ending, child.peaks if child else {}


def _judged(ending: dict[str, str], entries: tuple[Entry, ...]) -> dict[str, str]:
    reasons = verdict.broken(entries)
    if ending["status"] != "ok" or not reasons:
        return ending
    return {"status": "failed", "reason": "; ".join(reasons)}


def _told(folder: Path) -> Told:
    try:
        return msgspec.json.decode((folder / asked.TOLD).read_bytes(), type=Told)
    except (OSError, msgspec.DecodeError):  # it ended before it could tell, or while it did
        return Told()


def _environment(told: Told) -> Environment:
    here = environment.here()
    python: dict[str, Value] = {**told.python} if told.python else here.python
    machine = {**here.machine, "cores": cores(Path("/proc/cpuinfo").read_text())}
    return msgspec.structs.replace(here, packages=told.packages, python=python, machine=machine)


def _facts(
    method: Method, trial: int, entries: tuple[Entry, ...], told: Told, notes: Sequence[str]
) -> dict[str, Value]:
    return {
        **texts(labelled(entries, method.owner, method.method)),
        "trial": trial,
        "reports": len(entries),
        **{f"framework_{name}": value for name, value in told.framework.items()},
        **({"note": "; ".join(notes)} if notes else {}),
    }


def _samples(method: Method, entries: tuple[Entry, ...], told: Told) -> tuple[Samples, ...]:
    own = samples(labelled(entries, method.owner, method.method))
    if not told.began:
        return own
    opened = Samples(metric="open_time", unit="s", phase="open", values=(told.initialization,))
    if not told.execution:
        return (opened, *own)
    whole = Samples(metric="method_time", unit="s", phase="steady", values=(told.execution,))
    return (opened, *own, whole)


def safe_arguments(given: Mapping[str, object]) -> dict[str, Value]:
    """Plain values, without what looks secret; anything deeper as JSON."""
    return {
        name: value
        if isinstance(value, int | float)
        else safe_value(name, value if isinstance(value, str) else json.dumps(value))
        for name, value in given.items()
    }


def _safe(setting: Setting) -> Setting:
    """As it is kept once the process has read it."""
    return msgspec.structs.replace(
        setting, constructor_args=safe_arguments(setting.constructor_args)
    )

"""Run the command of a task, as often as requested, and parse its log into one Result."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core import codec, redaction
from assay.core.errors import EndingError
from assay.core.executor import CaseDir
from assay.core.records import LEFT_BEHIND, REPORTED_PREFIX, Case, Procedure, Result, Samples, Value
from assay.core.units import human
from assay.logs.overrides import arguments
from assay.logs.reader import CHUNK, LogReader, Outcome
from assay.logs.suggest import Suggester, confirm_suggestions
from assay.logs.task import Metric, Task
from assay.measure.machine import environment
from assay.measure.program import Program, ProgramResult, run_program
from assay.stats.pooling import pool_peaks

WALL = "wall_time"  # of the whole command; `command_wall_time` where its log has one of its own
MAX_SHOWN, SHOWN_END = 80, 30  # characters of a command in the key of its case, and of its end
TIMEOUT = 24 * 3600.0  # seconds, by default
SLOWED = 0.01  # share of the command's time from which on a wait for its output is noted
WORKERS = "DEEPLEARNING_WORKERS_COUNT"  # the old driver's variable


def case_of(task: Task, backend: str = "command") -> Case:
    words = task.command if isinstance(task.command, str) else " ".join(task.command)
    params: dict[str, Value] = {"command": redaction.safe_text(words), "num_gpus": task.num_gpus}
    shown = display_command(redaction.safe_text(words)) if task.unnamed else task.name
    return Case(workload=task.name, backend=backend, params=params, key=f"{shown}@{backend}")


def display_command(command: str) -> str:
    """A command on one line, its middle left out if it is long."""
    line = " ".join(command.split())
    if len(line) <= MAX_SHOWN:
        return line
    return f"{line[: MAX_SHOWN - SHOWN_END - 1]}…{line[-SHOWN_END:]}"


def run_task(task: Task, case_dir: CaseDir, suggest: bool = True) -> Result:
    """Run every repeat of a task, up to the first that fails.

    For a task without metrics they are suggested from its log, unless `suggest` is false.
    """
    result = Result(
        id=case_dir.id,
        case=case_of(task),
        procedure=Procedure(timeout=task.timeout or TIMEOUT),
        status="ok",
        started=_now(),
        environment=environment.current_environment(),
    )
    samples: list[Samples] = []
    peaks: list[Mapping[str, float]] = []
    facts: dict[str, Value] = {}
    ending: dict[str, str] = {}
    seconds = 0.0
    try:
        for number in range(task.repeats):
            ended, outcome = _run_repeat(task, case_dir.folder, number, suggest)
            seconds += ended.seconds
            peaks.append(ended.peaks)
            samples += _samples(ended, outcome, number)
            facts |= _facts(ended, outcome)
            if outcome.status != "ok":
                raise EndingError(outcome.status, outcome.reason)
    except EndingError as error:
        ending = {"status": error.status, "reason": error.reason}
    except OSError as error:  # its log could not be written: the disk is full
        ending = {"status": "failed", "reason": f"assay could not go on: {error.strerror}"}
    except KeyboardInterrupt as error:
        ending = {"status": "interrupted", "reason": str(error) or "by Ctrl-C"}
    return msgspec.structs.replace(
        result,
        samples=tuple(samples),
        facts=facts,
        peaks=pool_peaks(peaks),
        seconds=seconds,
        items=1,
        **ending,
    )


def read_log(task: Task, path: Path, result_id: str) -> tuple[Result, Outcome]:
    """The metrics of an existing log as a result."""
    outcome = parse_log_file(task.metrics, path)
    result = Result(
        id=result_id,
        case=case_of(task, "log"),
        procedure=Procedure(),
        status=outcome.status,
        reason=outcome.reason,
        started=_now(),
        samples=tuple(_metric_samples(outcome, 0)),
        facts={"log": str(path), **_metric_facts(outcome)},
        items=1,
    )
    return result, outcome


def parse_log_file(metrics: tuple[Metric, ...], path: Path, code: int | None = None) -> Outcome:
    with LogReader(metrics, workers=_workers()) as reader:
        for chunk in _chunks(path):
            reader.feed(chunk)
        return reader.finish(code)


def suggest_metrics(path: Path) -> tuple[Metric, ...]:
    """Metrics that a log seems to contain."""
    suggester = Suggester()
    for chunk in _chunks(path):
        suggester.feed(chunk)
    return confirm_suggestions(suggester.finish(), _chunks(path))


def log_path(folder: Path, number: int = 0) -> Path:
    """The stored log of one repeat."""
    return folder / ("log.gz" if not number else f"log-{number}.gz")


def _run_repeat(
    task: Task, folder: Path, number: int, suggest: bool
) -> tuple[ProgramResult, Outcome]:
    path = log_path(folder, number)
    with LogReader(task.metrics, workers=_workers()) as reader:
        # level 1: compression must not slow down a command that prints a lot
        with gzip.open(path, "wb", compresslevel=1) as log:

            def feed(chunk: bytes) -> None:
                log.write(chunk)
                reader.feed(chunk)

            ended = run_program(_program(task), folder, feed)
        outcome = reader.finish(ended.code)
    if suggest and not task.metrics:
        # a suggested metric cannot fail the command
        metrics = parse_log_file(suggest_metrics(path), path, ended.code).metrics
        return ended, msgspec.structs.replace(outcome, metrics=metrics)
    _keep_values(outcome, folder, number)
    return ended, outcome


def _program(task: Task) -> Program:
    folder = Path(task.origin).parent if task.origin else Path()
    command = task.command if task.shell else arguments(task.command)
    return Program(
        command=command,
        directory=str(folder / task.directory),
        environment=task.environment,
        timeout=task.timeout or TIMEOUT,
    )


def _samples(ended: ProgramResult, outcome: Outcome, number: int) -> list[Samples]:
    reported = any(outcome_metric.metric.name == WALL for outcome_metric in outcome.metrics)
    wall = Samples(
        metric=f"command_{WALL}" if reported else WALL,
        unit="s",
        phase="steady",
        values=(ended.seconds,),
        process=number,
    )
    return [wall, *_metric_samples(outcome, number)]


def _metric_samples(outcome: Outcome, number: int) -> list[Samples]:
    """The result of each metric; its single values are in a file of the case."""
    return [
        Samples(
            metric=reported.metric.name,
            unit=reported.metric.unit,
            phase="steady",
            values=(reported.value,),
            process=number,
        )
        for reported in outcome.metrics
        if reported.computed
    ]


def _facts(ended: ProgramResult, outcome: Outcome) -> dict[str, Value]:
    left = {LEFT_BEHIND: ", ".join(ended.left_behind)} if ended.left_behind else {}
    note = f"its output may have slowed the command by {human(ended.slowed, 's')}"
    slow = {"note": note} if ended.slowed > SLOWED * ended.seconds else {}
    return {
        "exit_status": ended.code,
        "log_bytes": outcome.bytes,
        "inputs": "repeat",
        **left,
        **slow,
        **_metric_facts(outcome),
    }


def _metric_facts(outcome: Outcome) -> dict[str, Value]:
    """How each metric was computed, or why not."""
    facts: dict[str, Value] = {}
    for reported in outcome.metrics:
        answer = f"{reported.metric.compute} of {reported.count} values"
        facts[f"{REPORTED_PREFIX}{reported.metric.name}"] = reported.reason or answer
        if reported.closing and not reported.closing.agrees:
            facts[f"closing {reported.metric.name}"] = reported.closing.text
    return facts


def _keep_values(outcome: Outcome, folder: Path, number: int) -> None:
    values = {reported.metric.name: list(reported.raw) for reported in outcome.metrics}
    name = f"values-{number}.json" if number else "values.json"
    (folder / name).write_bytes(codec.encode(values))


def _chunks(path: Path) -> Iterator[bytes]:
    with _open_log(path) as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _open_log(path: Path) -> gzip.GzipFile:
    """A log, compressed or not."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]


def _workers() -> int:
    text = os.environ.get(WORKERS, "")
    return int(text) if text.isdecimal() else 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

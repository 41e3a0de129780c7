"""assay driver: the command line and the result file of the AWS benchmark driver."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated

from assay.cli import printing
from assay.cli.command import click_command
from assay.cli.options import print_message
from assay.commands.task import api as task
from assay.core import codec, settings
from assay.core.errors import AssayError, UsageError
from assay.core.files import write_user_file
from assay.core.options import Flag, StoreUrl
from assay.core.records import Result, Value
from assay.logs.aws import result_key
from assay.logs.patterns import compile_pattern, expand
from assay.logs.task import Metric, Task

TEMPLATE = "task_config_template.cfg"
RESULT = "dlbenchmark_result.json"
FIRST_SAMPLE = 5.0  # seconds after which the AWS driver read the memory first
_PLACEHOLDERS = re.compile(r"\{number\}|\{quantity\}")  # only assay expands these


def document(
    result: Result, series: Sequence[Mapping[str, float]], framework: str, suffix: str
) -> dict[str, float]:
    """`[framework.]task.metric[.suffix]` → number, with the names, units and formulas of the AWS
    driver; but memory is of the process tree, not of the shell alone."""
    task = result.case.workload
    reported = result.reported_metrics
    metrics = {part.metric: part.values[-1] for part in result.samples if part.metric in reported}
    gpus = int(result.case.params.get("num_gpus", 0))
    values = metrics | _memory(result, series) | _gpu_memory(series, gpus) | _uptime()
    return {result_key(task, name, framework, suffix): value for name, value in values.items()}


def pattern_notes(metrics: Sequence[Metric], lines: Iterable[str]) -> Iterator[str]:
    """A note for each metric that the AWS driver would have read as another number: it lost signs,
    exponents, thousands separators and nan."""
    patterns = {
        metric.name: (re.compile(metric.pattern), compile_pattern(metric.pattern).regex)
        for metric in metrics
        if expand(metric.pattern) != metric.pattern and not _PLACEHOLDERS.search(metric.pattern)
    }
    notes: dict[str, tuple[str, str]] = {}
    for line in lines:
        for name, (before, now) in patterns.items():
            texts = _first(before, line), _first(now, line)
            if texts[1] and not _is_same_number(*texts):
                notes.setdefault(name, texts)
    for name, (old, new) in notes.items():
        was = f"read {old}" if old else "found nothing"
        yield f"{name}: {new} is read whole, where the old driver {was}"


def _first(regex: re.Pattern[str], line: str) -> str:
    match = regex.search(line)
    return (match[min(1, regex.groups)] or "") if match else ""


def _is_same_number(old: str, new: str) -> bool:
    try:
        return old == new or float(old) == float(new)
    except ValueError:
        return False


def _memory(result: Result, series: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean resident memory of the process tree in KiB; for a command that ended before the AWS
    driver's first sample, the peak."""
    values = [row["rss"] for row in series if row.get("rss")]
    brief = result.seconds < FIRST_SAMPLE or not values
    memory = result.peaks.get("max_rss") if brief else fmean(values)
    return {} if memory is None else {"cpu_memory_usage": memory / 1024}


def _gpu_memory(series: Sequence[Mapping[str, float]], gpus: int) -> dict[str, float]:
    """Mean, sample standard deviation and maximum of each of the first `gpus` GPUs in MiB, averaged
    over the GPUs as in the AWS driver."""
    names = [f"gpu{number}_memory_used" for number in range(gpus)]
    by_gpu = [[row[name] / 2**20 for row in series if name in row] for name in names]
    measured = [values for values in by_gpu if values]
    if not measured:
        return {}
    return {
        "gpu_memory_usage_mean": fmean(map(fmean, measured)),
        "gpu_memory_usage_std": fmean(stdev(v) if len(v) > 1 else 0.0 for v in measured),
        "gpu_memory_usage_max": fmean(map(max, measured)),
    }


def _uptime() -> dict[str, float]:
    """Uptime of the host, as in the AWS driver; not the duration of the command."""
    try:
        return {"uptime_in_seconds": float(Path("/proc/uptime").read_text().split()[0])}
    except (OSError, ValueError):
        return {}


INTERRUPTED = 130


@click_command(
    epilog="""\b
Examples:
  assay driver --task-name resnet50_cifar10_hybrid --num-gpus 0 --framework mxnet --epochs 3
  assay driver --task-name A --task-name B --num-gpus 0
  assay driver --task-name serve --metrics-policy inference_policy \\
      --command-to-execute 'python serve.py --requests 1000'""",
)
def command(
    *,
    task_names: Annotated[
        Sequence[str], Flag("A section of the task file; repeatable.", flags="--task-name")
    ] = (),
    every: Annotated[bool, Flag("Every section that has a command.", flags="--all")] = False,
    framework: Annotated[str, Flag("Prefix of the metric names in the result.")] = "",
    metrics_suffix: Annotated[str, Flag("Suffix of the metric names in the result.")] = "",
    num_gpus: Annotated[int | None, Flag("Number of GPUs; default: the section's.")] = None,
    epochs: Annotated[int | None, Flag("Replaces the value of --epochs in the command.")] = None,
    kvstore: Annotated[str | None, Flag("Replaces the value of --kvstore in the command.")] = None,
    dtype: Annotated[str | None, Flag("Replaces the value of --dtype in the command.")] = None,
    metrics_policy: Annotated[str, Flag("Section with the metrics of the next flag.")] = "",
    command_to_execute: Annotated[str, Flag("Command in place of a section's.")] = "",
    metrics_template: Annotated[str, Flag("The task file.", show_default=False)] = TEMPLATE,
    data_set: Annotated[str, Flag("Recorded only; data is not fetched.")] = "",
    store: StoreUrl = None,
) -> int:
    """Run tasks of task_config_template.cfg here, and write dlbenchmark_result.json.

    Several tasks are written into one file: the names in it begin with the task's. The log of a
    task is TASK.log; it is removed when all went well.
    """
    from assay.cli.finish import handle_signals, print_uploads

    Path(RESULT).unlink(missing_ok=True)  # not the file of an earlier run
    options = {"num_gpus": num_gpus, "epochs": epochs, "kvstore": kvstore, "dtype": dtype}
    overrides = {name: value for name, value in options.items() if value is not None}
    status, requests = 0, list[Task]()
    if command_to_execute or metrics_policy:
        request = _task_of_command(command_to_execute, metrics_policy, metrics_template, task_names)
        requests.append(task.override_task(request, overrides))
    elif every:
        status, requests = _all_tasks(metrics_template, overrides)
    else:
        requests = _tasks_by_name(task_names, metrics_template, overrides)
    if data_set:
        print_message(f"note: the data set {data_set} is not fetched; it has to be here")
    handle_signals()
    document: dict[str, float] = {}
    for request in requests:
        print_message(*(f"note: {note}" for note in request.notes))
        result = task.run_task(request, store=store)
        folder = settings.runs(store) / result.id
        part = _task_document(request, result, folder, framework, metrics_suffix)
        if (gpus := result.case.params.get("num_gpus", 0)) and "gpu_memory" not in str([*part]):
            print_message(
                f"note: --num-gpus is {gpus}, but no GPU was seen: the keys gpu_memory_usage_mean, "
                "_std and _max are absent"
            )
        document |= part
        if document:
            write_user_file(Path(RESULT), codec.encode(document, indent=4) + b"\n")
        print_uploads(result.run, store)
        if result.status == "interrupted":
            return INTERRUPTED
        status = status if result.status == "ok" else 1
    printing.put_document(document, indent=4)
    return status


def _tasks_by_name(names: Sequence[str], file: str, overrides: Mapping[str, Value]) -> list[Task]:
    if not names:
        raise UsageError(
            "No task was named.", hint=f"--task-name NAME, a section of {file}, or --all"
        )
    return [task.find_task(name, file, overrides) for name in names]


def _all_tasks(file: str, overrides: Mapping[str, Value]) -> tuple[int, list[Task]]:
    """The tasks of a file that can be read, and exit status 1 if another cannot."""
    status, tasks = 0, list[Task]()
    for name in task.names(file):
        try:
            section = task.section(name, file)
            if section.command:
                tasks.append(task.override_task(section, overrides))
        except AssayError as error:
            print_message(f"warning: {name} is left out: {error}")
            status = 1
    if not tasks:
        raise UsageError(f"{file} has no task that can be run.", hint="A task has a command.")
    return status, tasks


def _task_of_command(words: str, policy: str, file: str, names: Sequence[str]) -> Task:
    """A task from a shell command and a section with its metrics, as in benchmark_runner.py."""
    for flag, value in (("command-to-execute", words), ("metrics-policy", policy)):
        if not value:
            raise UsageError(
                f"--{flag} is missing: the runner takes a command and its metrics.",
                hint="--command-to-execute 'python serve.py' --metrics-policy SECTION",
            )
    if len(names) != 1:
        raise UsageError(
            f"{len(names)} task names were given for one --command-to-execute.",
            hint="--task-name NAME, which the names in the result begin with.",
        )
    return task.task_from_shell(words, policy, file, names[0])


def _task_document(
    request: Task, result: Result, folder: Path, framework: str, suffix: str
) -> dict[str, float]:
    """The metrics of a task; writes its log if it failed."""
    from assay.commands.plot import api

    log, packed = Path(f"{Path(request.name).name[:200]}.log"), folder / "log.gz"
    if result.status != "ok":
        print_message(f"{request.name}: {result.status}: {result.reason}")
        if packed.exists():
            with gzip.open(packed) as source, log.open("wb") as plain:
                shutil.copyfileobj(source, plain)
            print_message(f"its log: {log}")
    if "exit_status" not in result.facts:  # not started, or interrupted
        return {}
    with gzip.open(packed, "rt", errors="replace") as lines:
        print_message(*(f"note: {note}" for note in pattern_notes(request.metrics, lines)))
    series = api.process_series(sorted(folder.glob("process_info.log")))
    return document(result, series, framework, suffix)

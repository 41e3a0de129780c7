"""Tasks as functions: any command is a benchmark, its metrics read from its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.core import settings
from assay.core.errors import UsageError, unknown_name_error
from assay.core.files import write_atomic
from assay.core.options import Label, StoreUrl, Tags, accept_old_keywords
from assay.core.records import Plan, Result, Value
from assay.logs import files
from assay.logs.files import read_tasks, write_toml
from assay.logs.overrides import OPTIONS, fill, needs_shell, override
from assay.logs.task import Task

if TYPE_CHECKING:
    from assay.core.findings import SummarizedResult
    from assay.logs.reader import Outcome

FILES = ("tasks.toml", "task_config_template.cfg")  # looked for where no file is named


def tasks(file: str = "") -> dict[str, Task]:
    """The tasks of a file, ours (.toml) or the AWS driver's."""
    return read_tasks(_file(file))


def names(file: str = "") -> list[str]:
    """Of the tasks and metric policies in a file, also of those that could not be read."""
    return files.task_names(_file(file))


def section(name: str, file: str = "") -> Task:
    """A task or a metric policy, as it stands in its file."""
    return files.find_task(_file(file), name)


def find_task(name: str, file: str = "", overrides: Mapping[str, Value] | None = None) -> Task:
    """One task, its placeholders filled and its options overridden."""
    task = section(name, file)
    if not task.command:
        raise UsageError(
            f"'{name}' is a metric policy: it has no command.",
            hint=f"Give one: assay task run --policy {name} -- COMMAND …",
        )
    return override_task(task, overrides or {})


def override_task(task: Task, overrides: Mapping[str, Value]) -> Task:
    """The task with other arguments; an override that finds nothing to change is noted."""
    for name in overrides:
        if name not in OPTIONS:
            raise unknown_name_error("override", name, OPTIONS)
    gpus = overrides.get("num_gpus", task.num_gpus)
    if not str(gpus).isdecimal():
        raise UsageError(f"num_gpus is '{gpus}', but has to be 0 or more.", hint="num_gpus=1")
    changed = override(fill(task.command, {**overrides, "num_gpus": gpus}), overrides)
    notes = tuple(f"{name} changes nothing in this command" for name in changed.unused)
    return msgspec.structs.replace(
        task, command=changed.command, num_gpus=int(gpus), notes=(*task.notes, *notes)
    )


def task_from_command(
    words: Sequence[str], policy: str = "", file: str = "", name: str = ""
) -> Task:
    """A task for a command line; with a policy it has that section's metrics."""
    metrics = section(policy, file).metrics if policy else ()
    script = next((word for word in words if word.endswith(".py")), words[0])
    return Task(
        name=name or policy or Path(script).stem,
        command=tuple(words),
        metrics=metrics,
        unnamed=not name,
    )


def task_from_shell(command: str, policy: str, file: str, name: str) -> Task:
    """A task for a command as a file would have it, with the metrics of a policy."""
    metrics = section(policy, file).metrics
    return Task(name=name, command=command, shell=needs_shell(command), metrics=metrics)


@accept_old_keywords(home="store")
def run_task(task: Task, label: Label = "", tags: Tags = None, store: StoreUrl = None) -> Result:
    """Run a task; its result is kept whatever happens."""
    return run_and_save(task, label, tags, store).result


def run_and_save(
    task: Task,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    store: StoreUrl = None,
) -> SummarizedResult:
    """`run_task`, with the result's summary."""
    from assay.measure import task as engine
    from assay.measure.machine.environment import safe_tags
    from assay.measure.recorder import new_run

    plan = Plan(
        cases=(engine.case_of(task),),
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="task",
    )
    with new_run(plan, store) as run:
        result = engine.run_task(task, run.new_case())
        _, (reading,) = next(run.record([(None, [result])]))
    return reading


@accept_old_keywords(home="store")
def parse_log(task: Task, log: str | Path, label: Label = "", store: StoreUrl = None) -> Result:
    """The metrics of a log that exists already; kept as a result too."""
    return read_log(task, log, label, store).result


def read_log(
    task: Task, log: str | Path, label: str = "", store: StoreUrl = None
) -> SummarizedResult:
    """`parse_log`, with the result's summary."""
    from assay.measure import task as engine
    from assay.measure.recorder import new_run

    path = _log(log)
    plan = Plan(cases=(engine.case_of(task, "log"),), label=label, verb="task")
    with new_run(plan, store) as run:
        result, _ = engine.read_log(task, path, run.new_case().id)
        _, (reading,) = next(run.record([(None, [result])]))
    return reading


@accept_old_keywords(home="store")
def suggestions(result: Result, store: StoreUrl = None) -> Outcome:
    """What could be read from the log of a command that was run without metrics."""
    from assay.measure import task as engine

    log = engine.log_path(settings.runs(store) / result.id)
    return engine.parse_log_file(engine.suggest_metrics(log), log)


def suggest_from(log: str | Path) -> Outcome:
    """What could be read from a log that exists already."""
    from assay.measure import task as engine

    path = _log(log)
    return engine.parse_log_file(engine.suggest_metrics(path), path)


def save(task: Task, outcome: Outcome, path: str | Path) -> Path:
    """Write a task with suggested metrics as a file of ours; an existing one is not overwritten."""
    target = Path(path)
    if target.exists():
        raise UsageError(f"{target} is there already.", hint="Choose another name, or remove it.")
    metrics = tuple(match.metric for match in outcome.metrics)
    text = write_toml([msgspec.structs.replace(task, metrics=metrics)])
    try:
        write_atomic(target, text.encode())
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written ({error.strerror}).", hint="Choose another folder."
        ) from None
    return target


def _log(log: str | Path) -> Path:
    path = Path(log)
    if not path.is_file():
        raise UsageError(f"There is no log {log}.", hint="Give the path of a file.")
    return path


def _file(chosen: str) -> Path:
    if chosen:
        return Path(chosen)
    here = next((Path(name) for name in FILES if Path(name).is_file()), None)
    if here is None:
        raise UsageError(
            f"No task file was named, and neither {' nor '.join(FILES)} is here.",
            hint="Name one with --file.",
        )
    return here

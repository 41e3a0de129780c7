"""Tasks as functions: any command is a benchmark, its metrics read from its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay import environment, settings, taskrun
from assay.api import summarize, summary_of
from assay.errors import UsageError
from assay.findings import Reading
from assay.records import Plan, Result, Value
from assay.stores import folders
from assay.stores.sql import SqlStore
from assay.tasks.files import find_task, read_tasks
from assay.tasks.overrides import fill, override
from assay.tasks.reader import Outcome
from assay.tasks.task import Task
from assay.tasks.writing import write_toml

Home = str | Path | None

FILES = ("tasks.toml", "task_config_template.cfg")  # looked for where no file is named


def tasks(file: str = "") -> dict[str, Task]:
    """The tasks of a file, ours (.toml) or the AWS driver's."""
    return read_tasks(_file(file))


def section(name: str, file: str = "") -> Task:
    """A task or a metric policy, as it stands in its file."""
    return find_task(_file(file), name)


def task(name: str, file: str = "", overrides: Mapping[str, Value] | None = None) -> Task:
    """One task, its placeholders filled and its options overridden."""
    found = section(name, file)
    if not found.command:
        raise UsageError(
            f"'{name}' is a metric policy: it has no command.",
            hint=f"Give one: assay task run --policy {name} -- COMMAND …",
        )
    return overridden(found, overrides or {})


def overridden(found: Task, overrides: Mapping[str, Value]) -> Task:
    """The task with other arguments; an override that finds nothing to change is noted."""
    gpus = overrides.get("num_gpus", found.num_gpus)
    changed = override(fill(found.command, {**overrides, "num_gpus": gpus}), overrides)
    notes = tuple(f"{name} changes nothing in this command" for name in changed.unused)
    return msgspec.structs.replace(
        found, command=changed.command, num_gpus=int(gpus), notes=(*found.notes, *notes)
    )


def of_command(words: Sequence[str], policy: str = "", file: str = "", name: str = "") -> Task:
    """A task for a command line; with a policy it has that section's metrics."""
    metrics = section(policy, file).metrics if policy else ()
    script = next((word for word in words if word.endswith(".py")), words[0])
    return Task(name=name or policy or Path(script).stem, command=tuple(words), metrics=metrics)


def run_task(
    asked: Task, label: str = "", tags: Mapping[str, str] | None = None, home: Home = None
) -> Result:
    """Run a task; its result is kept whatever happens."""
    store = SqlStore(settings.home(home))
    plan = Plan(
        cases=(taskrun.case_of(asked),),
        label=label,
        tags=environment.safe_tags(dict(tags or {})),
        verb="task",
    )
    try:
        run = store.new_run(plan)
        with folders.locked(run):
            place = folders.new_case(run)
            measured = taskrun.run_task(asked, f"{run.name}/{place.name}", place)
            result = msgspec.structs.replace(measured, label=plan.label, tags=plan.tags)
            store.append(result)
            summary_of(result, store)
        return result
    finally:
        store.close()


def parse_log(
    asked: Task, log: str | Path, label: str = "", home: Home = None
) -> tuple[Result, Outcome]:
    """The metrics of a log that exists already; kept as a result too."""
    path = Path(log)
    if not path.is_file():
        raise UsageError(f"There is no log {log}.", hint="Give the path of a file.")
    store = SqlStore(settings.home(home))
    try:
        run = store.new_run(Plan(cases=(taskrun.case_of(asked, "log"),), label=label, verb="task"))
        place = folders.new_case(run)
        found, outcome = taskrun.read_log(asked, path, f"{run.name}/{place.name}")
        result = msgspec.structs.replace(found, label=label)
        store.append(result)
        return result, outcome
    finally:
        store.close()


def reading(result: Result) -> Reading:
    """A result with its summary."""
    return Reading(result=result, summary=summarize(result))


def suggestions(result: Result, home: Home = None) -> Outcome:
    """What could be read from the log of a command that was run without metrics."""
    log = taskrun.log_of(settings.home(home) / "runs" / result.id)
    return taskrun.parse(taskrun.suggested(log), log)


def save(asked: Task, outcome: Outcome, path: str | Path) -> Path:
    """Write a task with suggested metrics as a file of ours; an existing one is not overwritten."""
    target = Path(path)
    if target.exists():
        raise UsageError(f"{target} is there already.", hint="Choose another name, or remove it.")
    metrics = tuple(found.metric for found in outcome.metrics)
    try:
        target.write_text(write_toml([msgspec.structs.replace(asked, metrics=metrics)]))
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written ({error.strerror}).", hint="Choose another folder."
        ) from None
    return target


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

"""Make the two contenders of a comparison: cases, environments, commits or commands."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from assay.core.case_text import CaseLike
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_path
from assay.core.records import Case
from assay.core.redaction import REDACTED, safe_text
from assay.logs.task import Metric, Task
from assay.measure import plan, process_env
from assay.measure import task as taskrun
from assay.measure.git import run_git

WALL = taskrun.WALL
WORKING_TREE = "."  # in place of a commit: the current files, with edits
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_SHELL = {";", "|", "||", "|&", "&", "&&", "<", "<<", ">", ">>", "2>", "2>>", "&>", "2>&1"}


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """A case, or a command as a task."""

    name: str  # differs from the other's
    case: Case
    task: Task | None = None
    commit: str = ""


Pair = tuple[Contender, Contender]


def pair_from_cases(
    requested: Sequence[CaseLike],
    pythons: Sequence[str],
    commits: Sequence[str],
    trust: bool = False,
) -> Pair:
    """Two cases, or one case in two environments or at two commits."""
    request = [plan.as_case(item, trust) for item in requested]
    axes = [name for name, names in (("--python", pythons), ("--commit", commits)) if names]
    if not axes:
        names = [
            item if isinstance(item, str) else case.key or case.workload
            for item, case in zip(requested, request, strict=True)
        ]
        _check_two("cases", names, "As in: assay ab A@jax B@torch")
        return _pair([_single_case(case) for case in request])
    if len(axes) == 2 or len(request) != 1:
        raise UsageError(
            f"{len(request)} cases were given with {' and '.join(axes)}.",
            hint="One case at two commits, or one case in two environments.",
        )
    if pythons:
        _check_two("--python", pythons, "As in: --python venv-old --python venv-new")
        return _pair(
            [_single_case(request[0], python=str(Path(text).absolute())) for text in pythons]
        )
    _check_two("--commit", commits, "As in: --commit main --commit HEAD")
    case = _single_case(request[0])
    for commit in commits:
        if commit != WORKING_TREE:
            commit_hash(case, commit)
    first, second = (
        Contender(name=f"{case.key} at {commit}", case=case, commit=commit) for commit in commits
    )
    return first, second


def pair_from_commands(commands: Sequence[str], metric: tuple[str, str], timeout: float) -> Pair:
    """Two commands; `metric` is a name and the pattern that finds it in their output."""
    _check_two("--cmd", commands, "As in: --cmd 'python old.py' --cmd 'python new.py'")
    for text in commands:
        _check_no_shell(text)
    name, pattern = metric
    metrics = (Metric(name=name, pattern=pattern),) if pattern else ()
    tasks = [
        Task(name=_script(text), command=text, metrics=metrics, timeout=timeout, unnamed=True)
        for text in commands
    ]
    first, second = (
        Contender(name=safe_text(str(task.command)), case=taskrun.case_of(task), task=task)
        for task in tasks
    )
    return first, second


def redact_pair(pair: Pair) -> Pair:
    """As stored. A command with a hidden secret cannot be run from there."""
    first, second = (
        msgspec.structs.replace(
            contender,
            task=msgspec.structs.replace(
                contender.task, command=safe_text(str(contender.task.command))
            ),
        )
        if contender.task
        else contender
        for contender in pair
    )
    return first, second


def check_not_redacted(pair: Pair, run: str) -> None:
    """Raise if a secret of a stored command is hidden."""
    for contender in pair:
        if contender.task and REDACTED in str(contender.task.command):
            raise UsageError(
                f"Run {run} cannot be resumed: what looked secret in its command was not stored.",
                hint="Start it again with the whole command.",
            )


def identity(contender: Contender) -> tuple[str, str]:
    """Equal for two contenders that do the same, however they were named."""
    if contender.task:
        return str(contender.task.command), ""
    commit = contender.commit
    if commit and commit != WORKING_TREE:
        commit = commit_hash(contender.case, commit)
    return contender.case.key, commit


def commit_hash(case: Case, commit: str) -> str:
    """Of a commit in the repository that holds the case's workload."""
    root = repository(case)
    try:
        return run_git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", folder=root)
    except AssayError:  # git is installed: it found the repository
        raise UsageError(
            f"There is no commit '{commit}' in {root}.", hint=f"To see them: git -C {root} log"
        ) from None


def repository(case: Case) -> Path:
    """Of the workload's file; of assay if the workload is built in."""
    file = case.workload.rpartition(":")[0] if ".py:" in case.workload else __file__
    folder = user_path(file).resolve().parent
    return Path(run_git("rev-parse", "--show-toplevel", folder=folder))


@contextmanager
def check_out_pair(
    pair: Pair, build: Callable[[Path], None] = lambda folder: None
) -> Iterator[Pair]:
    """Check out and build each commit in its own temporary folder."""
    if not pair[0].commit:
        yield pair
        return
    root = repository(pair[0].case)
    with tempfile.TemporaryDirectory(prefix="assay-commits-") as root_folder:
        folders = [Path(root_folder) / side for side in ("baseline", "candidate")]
        try:
            for contender, folder in zip(pair, folders, strict=True):
                if contender.commit != WORKING_TREE:
                    words = ("worktree", "add", "--detach", str(folder), contender.commit)
                    run_git(*words, folder=root)
                    build(folder)
            first, second = (
                contender
                if contender.commit == WORKING_TREE
                else _at_checkout(contender, root, folder)
                for contender, folder in zip(pair, folders, strict=True)
            )
            yield first, second
        finally:
            for folder in folders:
                if folder.exists():
                    run_git("worktree", "remove", "--force", str(folder), folder=root)


def _at_checkout(contender: Contender, root: Path, folder: Path) -> Contender:
    """The contender in a checkout, with the same key."""
    case = contender.case
    if ".py:" in case.workload:
        file, _, name = case.workload.rpartition(":")
        path = folder / user_path(file).resolve().relative_to(root)
        if not path.is_file():
            raise UsageError(
                f"{file} does not exist at {contender.commit}.", hint="Choose a later commit."
            )
        case = msgspec.structs.replace(case, workload=f"{path}:{name}")
    else:
        _check_loader(contender, folder)
        python = _with_path(folder, str(case.options.get("python") or sys.executable))
        case = msgspec.structs.replace(case, options={**case.options, "python": str(python)})
    return msgspec.structs.replace(contender, case=case)


def _check_loader(contender: Contender, folder: Path) -> None:
    """A commit of assay from before `--trust` would run code of any file it loads."""
    loader = folder / "assay" / "workloads" / "user" / "_torch_archive.py"
    file = contender.case.workload
    if file.endswith(".pt2") and not contender.case.trust and not loader.exists():
        raise UsageError(
            f"{file} is not loaded, because assay at {contender.commit} would run code that it "
            "may hold.",
            hint="If you trust whoever made it, add --trust (in Python: trust=True).",
        )


def _with_path(folder: Path, python: str) -> Path:
    """An interpreter that finds the packages of a checkout before the current ones."""
    script = folder.with_name(f"{folder.name}-python")
    variables = f'PYTHONSAFEPATH=1 PYTHONPATH="{folder}:$PYTHONPATH"'
    script.write_text(f'#!/bin/sh\n{variables} exec "{python}" "$@"\n')
    os.chmod(script, 0o755)
    return script


def _single_case(case: Case, **options: str) -> Case:
    """The one complete case; an error if several backends are possible."""
    chosen = msgspec.structs.replace(case, options={**case.options, **options})
    cases = plan.expand_cases([chosen])
    if len(cases) != 1:
        raise UsageError(
            f"{case.workload} names no backend, and {len(cases)} can open it here.",
            hint=f"Name one, as in {cases[0].key}.",
        )
    check_size(cases[0])
    _check_python(str(cases[0].options.get("python", "")))
    return cases[0]


def _check_python(chosen: str) -> None:
    python = process_env.python_of(chosen)
    if chosen and not os.access(python, os.X_OK):
        raise UsageError(
            f"There is no Python interpreter at {python}.",
            hint="Name the folder of a virtual environment, or an interpreter.",
        )


def check_size(case: Case) -> None:
    """`batch_size=max` is searched for in each process, so it is not a fixed contender."""
    if case.params.get("batch_size") == "max":
        raise UsageError(
            f"{case.key} asks for the largest batch, but contenders need a fixed one.",
            hint=f"Find it first: assay run '{case.key}'",
        )


def _pair(cases: Sequence[Case]) -> Pair:
    first, second = (Contender(name=case.key, case=case) for case in cases)
    return first, second


def _check_two(what: str, values: Sequence[str], hint: str) -> None:
    if len(values) != 2:
        listed = f": {' '.join(values)}" if values else ""
        raise UsageError(f"Two {what} are compared, but {len(values)} given{listed}.", hint=hint)


def _check_no_shell(command: str) -> None:
    """A pipe would be an argument of the first program, which most programs take for a file."""
    words = _QUOTED.sub("_", command).split()
    marks = [mark for mark in (";" if w.endswith(";") else w for w in words) if mark in _SHELL]
    if marks:
        raise UsageError(
            f"--cmd '{command}' has {marks[0]}, but commands are run without a shell.",
            hint="Ask for one, as in: --cmd \"sh -c 'a | b'\"",
        )


def _script(command: str) -> str:
    words = command.split() or [""]
    if not words[0]:
        raise UsageError("--cmd got an empty command.", hint="--cmd 'python old.py'")
    return Path(next((word for word in words if word.endswith(".py")), words[0])).stem

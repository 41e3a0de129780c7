"""Run folders from elsewhere, copied without trusting them: plain files only, and not too many.

What the folder says is used for nothing but the id of each result, which is checked by its form;
files are copied under the names they have. Links, pipes, sockets and devices are left out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import StoreError, UsageError
from assay.core.files import written_whole
from assay.core.records import Result
from assay.core.units import human
from assay.stores import folders

MOST_FILES = 10_000  # of one run
MOST_BYTES = 16 << 30
DEEPEST = 8  # folders below a case's
CHUNK = 1 << 20
IMPORTED = "imported"  # a file that marks a run which was begun elsewhere
_LEFT_OUT = {"lock", IMPORTED}


class PlainFile(NamedTuple):
    """A file that is there: where it is to be, from the folder of runs."""

    source: Path
    target: Path
    size: int


class Looked(NamedTuple):
    """What a run folder holds, and what of it a store has not yet."""

    run: str
    ids: list[str]  # of all results of the folder
    new: list[Result]  # those that were not here before
    files: list[PlainFile]  # of the new results
    beside: list[PlainFile]  # the run's own
    problems: list[str]  # what is left out, in words


def adopt(folder: Path, runs: Path, own: Callable[[str], Path]) -> Looked:
    """Copy a run folder; all of it is looked at first. What is here already, in the folder that
    `own` gives for an id, stays as it is."""
    found = look(folder, lambda ids: {i for i in ids if os.path.lexists(own(i) / "result.json")})
    _copy_all(runs, found)
    return found


def look(folder: Path, known: Callable[[Sequence[str]], Collection[str]]) -> Looked:
    """`known` says which of some ids the store has already."""
    cases = folders.finished(folder)
    found = [folders.read_result(case) for case in cases]
    _check(folder, found)
    problems: list[str] = []
    ids = [result.id for result in found]
    here = known(ids)
    files = [
        file
        for case, result in zip(cases, found, strict=True)
        if result.id not in here
        for file in files_of(case, Path(result.id), problems)
    ]
    run = found[0].run
    beside = list(files_of(folder, Path(run), problems, deepest=0))
    _check_size(folder, [*files, *beside])
    new = [result for result in found if result.id not in here]
    return Looked(run, ids, new, files, beside, problems)


def _check(folder: Path, found: list[Result]) -> None:
    if not found and not os.path.isdir(folder):
        raise UsageError(
            f"There is no file or folder '{folder}'.",
            hint="Give a file of another tool, or the folder of a run: runs/RUN of another home.",
        )
    if not found:
        raise UsageError(
            f"{folder} is no run folder: it holds no NNN/result.json.",
            hint="A run folder lies in runs/ of another home, or where a message said.",
        )
    ids = [result.id for result in found]
    if len(set(ids)) < len(ids) or len({result.run for result in found}) > 1:
        raise StoreError(
            f"{folder} holds results of several runs, or two of one id: {', '.join(ids[:4])}.",
            hint="The folder is damaged or was made to harm: import one that assay made.",
        )


def files_of(
    folder: Path, into: Path, problems: list[str], deepest: int = DEEPEST
) -> Iterator[PlainFile]:
    """Plain files of a folder; `deepest` 0: without those in folders of it."""
    with folders.explained(folder), os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        size = entry.stat(follow_symlinks=False).st_size
        if entry.is_file(follow_symlinks=False):
            if entry.name not in _LEFT_OUT:
                yield PlainFile(Path(entry.path), into / entry.name, size)
        elif not entry.is_dir(follow_symlinks=False):
            problems.append(f"{entry.path} is no plain file, and was left out.")
        elif deepest > 1:
            yield from files_of(Path(entry.path), into / entry.name, problems, deepest - 1)
        elif deepest:
            problems.append(f"{entry.path} lies too deep, and was left out.")


def _check_size(folder: Path, files: list[PlainFile]) -> None:
    size = sum(file.size for file in files)
    if len(files) > MOST_FILES or size > MOST_BYTES:
        raise UsageError(
            f"{folder} holds {len(files)} files of {human(size, 'B')}, but {MOST_FILES} files of "
            f"{human(MOST_BYTES, 'B')} are taken at most.",
            hint="Move away what is no result, such as traces and weights.",
        )


def _copy_all(runs: Path, found: Looked) -> None:
    """The result of a case last: where it is, the rest is there too."""
    with folders.explained(runs / found.run):
        if not (runs / found.run).exists():
            (runs / found.run).mkdir()
            (runs / found.run / IMPORTED).touch()
        every = [*found.files, *found.beside]
        for file in sorted(every, key=lambda file: file.target.name == "result.json"):
            if not os.path.lexists(runs / file.target):
                _copy(file, runs / file.target)


def _copy(file: PlainFile, target: Path) -> None:
    """No more bytes than there were when it was looked at: it may be growing without end."""
    target.parent.mkdir(parents=True, exist_ok=True)
    opened = os.open(file.source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(opened, "rb") as source, written_whole(target) as place, place.open("wb") as copy:
        left = file.size if stat.S_ISREG(os.fstat(opened).st_mode) else 0
        while left and (chunk := source.read(min(CHUNK, left))):
            copy.write(chunk)
            left -= len(chunk)

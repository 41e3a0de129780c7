"""Import untrusted run folders: plain files only, within limits.

Only the ids of results are read from the folder, and checked; files keep their names. Links, pipes,
sockets and devices are skipped.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import StoreError, UsageError
from assay.core.files import READ, atomic_path, has_text_name
from assay.core.records import Result
from assay.core.units import human
from assay.stores import folders
from assay.stores._modes import set_modes

MAX_FILES = 10_000  # of one run
MAX_BYTES = 16 << 30
MAX_DEPTH = 8  # folders below a case's
CHUNK = 1 << 20
IMPORTED = "imported"  # file that marks an imported run
_SKIPPED = {"lock", IMPORTED}


class PlainFile(NamedTuple):
    """A file to copy; `target` is relative to the folder of runs."""

    source: Path
    target: Path
    size: int


class ImportScan(NamedTuple):
    """Content of a run folder, and the part that a store does not have."""

    run: str
    ids: list[str]  # of all results of the folder
    new: list[Result]  # not in the store
    files: list[PlainFile]  # of the new results
    run_files: list[PlainFile]  # the run's own
    problems: list[str]  # messages about skipped files


def copy_run(folder: Path, runs: Path, own: Callable[[str], Path]) -> ImportScan:
    """Scan a run folder completely, then copy it. Results that exist in the folder `own(id)` are
    skipped."""
    scan = scan_run(folder, lambda ids: {i for i in ids if os.path.lexists(own(i) / "result.json")})
    _copy_all(runs, scan)
    return scan


def scan_run(folder: Path, known: Callable[[Sequence[str]], Collection[str]]) -> ImportScan:
    """Scan a run folder; `known` returns the ids that the store already has."""
    cases = folders.finished_cases(folder)
    results = [folders.read_result(case) for case in cases]
    _check(folder, results)
    problems: list[str] = []
    ids = [result.id for result in results]
    present = known(ids)
    files = [
        file
        for case, result in zip(cases, results, strict=True)
        if result.id not in present
        for file in files_of(case, Path(result.id), problems)
    ]
    run = results[0].run
    beside = list(files_of(folder, Path(run), problems, deepest=0))
    _check_size(folder, [*files, *beside])
    new = [result for result in results if result.id not in present]
    return ImportScan(run, ids, new, files, beside, problems)


def _check(folder: Path, results: list[Result]) -> None:
    if not results and not os.path.isdir(folder):
        raise UsageError(
            f"There is no file or folder '{folder}'.",
            hint="Use a file of another tool, or the folder of a run: runs/RUN of another home.",
        )
    if not results:
        raise UsageError(
            f"{folder} is no run folder: it has no NNN/result.json.",
            hint="Run folders are in runs/ of a home.",
        )
    ids = [result.id for result in results]
    if len(set(ids)) < len(ids) or len({result.run for result in results}) > 1:
        raise StoreError(
            f"{folder} has results of several runs, or two with the same id: {', '.join(ids[:4])}.",
            hint="The folder is damaged or malicious: import one that assay wrote.",
        )


def files_of(
    folder: Path, into: Path, problems: list[str], deepest: int = MAX_DEPTH
) -> Iterator[PlainFile]:
    """Plain files of a folder; `deepest` 0: without subfolders."""
    with folders.explain_os_errors(folder), os.scandir(folder) as entries:
        sorted_entries = sorted(entries, key=lambda entry: entry.name)
    for entry in sorted_entries:
        size = entry.stat(follow_symlinks=False).st_size
        if not has_text_name(Path(entry.path)):
            problems.append(f"{entry.name!a} in {folder} is not UTF-8, and was skipped.")
        elif entry.is_file(follow_symlinks=False):
            if entry.name not in _SKIPPED:
                yield PlainFile(Path(entry.path), into / entry.name, size)
        elif not entry.is_dir(follow_symlinks=False):
            problems.append(f"{entry.path} is no plain file, and was skipped.")
        elif deepest > 1:
            yield from files_of(Path(entry.path), into / entry.name, problems, deepest - 1)
        elif deepest:
            problems.append(f"{entry.path} is nested too deeply, and was skipped.")


def _check_size(folder: Path, files: list[PlainFile]) -> None:
    size = sum(file.size for file in files)
    if len(files) > MAX_FILES or size > MAX_BYTES:
        raise UsageError(
            f"{folder} has {len(files)} files of {human(size, 'B')}; at most {MAX_FILES} files of "
            f"{human(MAX_BYTES, 'B')} are imported.",
            hint="Move away large files such as traces and weights.",
        )


def _copy_all(runs: Path, scan: ImportScan) -> None:
    """Copy results last, so that a case with a result is complete."""
    with folders.explain_os_errors(runs / scan.run):
        if not (runs / scan.run).exists():
            (runs / scan.run).mkdir()
            (runs / scan.run / IMPORTED).touch()
        all_files = [*scan.files, *scan.run_files]
        for file in sorted(all_files, key=lambda file: file.target.name == "result.json"):
            if not os.path.lexists(runs / file.target):
                copy_file(file, runs / file.target)
        set_modes(runs / scan.run, runs)


def copy_file(file: PlainFile, target: Path) -> None:
    """Copy at most the scanned number of bytes, as a file may grow."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file.source, READ)
    with (
        open(descriptor, "rb") as source,
        atomic_path(target) as temporary,
        temporary.open("wb") as copy,
    ):
        left = file.size if stat.S_ISREG(os.fstat(descriptor).st_mode) else 0
        while left and (chunk := source.read(min(CHUNK, left))):
            copy.write(chunk)
            left -= len(chunk)

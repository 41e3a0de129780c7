"""Run folders, the primary data: `runs/RUN/plan.json` and `runs/RUN/NNN/result.json`."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from assay.core import codec
from assay.core.errors import StoreError, UsageError
from assay.core.executor import CaseDir
from assay.core.files import read_plain, write_atomic
from assay.core.records import SCHEMA, Plan, Result
from assay.core.redaction import safe_text, safe_values
from assay.core.systems import lock_file
from assay.stores._modes import create_store, set_mode, set_modes

# Names of runs, and ids: always inside the folder of runs.
RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
STAMPED = re.compile(r"\d{8}-\d{6}-")  # names of assay
NUMBER = re.compile(r"[0-9]{3,6}")  # of a case in its run
_ID = re.compile(rf"{RUN.pattern}/{NUMBER.pattern}")
AMENDED = "amended.json"  # a user's later label and tags of a result
MAX_BYTES = 1 << 30  # of a result, a plan or a document
_CHARACTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without similar characters
Reader = Callable[[str], bytes | None]  # reads files of a remote folder by name


def new_run(runs: Path, plan: Plan) -> Path:
    """Create a run folder with its plan."""
    folder = runs / _new_id()
    with explain_os_errors(folder):
        create_store(runs)
        while not _try_mkdir(folder):
            folder = runs / _new_id()
        write_atomic(folder / "plan.json", codec.encode(plan, indent=2))
        set_modes(folder, runs)
    return folder


def _new_id() -> str:
    """The time and four random letters, which may collide within a second."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{stamp}-" + "".join(_CHARACTERS[byte % len(_CHARACTERS)] for byte in os.urandom(4))


def _try_mkdir(folder: Path) -> bool:
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    return True


def new_case(run: Path) -> CaseDir:
    """Create the folder of the next case of a run: NNN, from 001."""
    with explain_os_errors(run):
        number = 1 + max(
            (int(p.name) for p in run.iterdir() if NUMBER.fullmatch(p.name)), default=0
        )
        folder = run / f"{number:03d}"
        folder.mkdir()
        set_mode(folder, run.parent)
    return CaseDir(f"{run.name}/{folder.name}", folder)


def write_result(folder: Path, result: Result) -> None:
    """Write a result to its folder; if that fails, to a temporary folder, and raise."""
    data = codec.encode(result)
    try:
        write_atomic(folder / "result.json", data)
        set_modes(folder, folder.parents[1])  # its logs too
    except OSError as error:
        raise StoreError(
            f"The result could not be written to {folder} ({error.strerror}).",
            hint=_save_elsewhere(folder, data),
        ) from None


def _save_elsewhere(folder: Path, data: bytes) -> str:
    import tempfile  # rarely needed, slow import

    try:
        spare = Path(tempfile.mkdtemp(prefix="assay-")) / folder.parent.name / folder.name
        spare.mkdir(parents=True)
        write_atomic(spare / "result.json", data)
    except OSError:
        return f"Free some space, then resume {folder.parent.name}."
    return f"It is saved in {spare.parent}. Free space, then: assay import {spare.parent}"


def read_result(folder: Path, read: Reader | None = None) -> Result:
    """Read the result in a case's folder and check the form of its id."""
    data = _read_file(folder / "result.json", read)
    result = codec.decode(data, Result, str(folder / "result.json"))
    _check_id(result, folder, "RUN/NNN", bool(_ID.fullmatch(result.id)))
    changes = read(AMENDED) if read else read_document(folder / AMENDED)
    if changes is None:
        return result
    amendment = codec.decode(changes, Amendment, str(folder / AMENDED))
    return msgspec.structs.replace(result, label=amendment.label, tags=amendment.tags)


def read_stored_result(folder: Path, read: Reader | None = None) -> Result:
    """Read the result in a case's folder of a store; its id has to match the folder."""
    result = read_result(folder, read)
    own = f"{folder.parent.name}/{folder.name}"
    _check_id(result, folder, f"{own} there", result.id == own)
    return result


def _check_id(result: Result, folder: Path, expected: str, holds: bool) -> None:
    if not holds:
        raise StoreError(
            f"{folder / 'result.json'} has the id {result.id[:60]!r}, but an id is {expected}.",
            hint="The file is damaged or malicious: move it away to hide it.",
        )


class Amendment(msgspec.Struct, frozen=True, kw_only=True):
    """Label and tags that replace those of a result."""

    label: str = ""
    tags: dict[str, str] = {}
    schema: int = SCHEMA
    kind: Literal["amendment"] = "amendment"


def write_amendment(folder: Path, label: str, tags: Mapping[str, str]) -> None:
    """Write label and tags to a separate file: the result never changes."""
    change = Amendment(label=safe_text(label), tags=safe_values(tags))
    write_document(folder / AMENDED, codec.encode(change))


def read_plan(run: Path, read: Reader | None = None) -> Plan:
    path = run / "plan.json"
    return codec.decode(_read_file(path, read), Plan, str(path))


def read_document(path: Path) -> bytes | None:
    try:
        return read_plain(path, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unusable_error(path, error) from None


def write_document(path: Path, data: bytes) -> None:
    with explain_os_errors(path):
        write_atomic(path, data)
        set_mode(path, _runs_of(path))


def _runs_of(path: Path) -> Path:
    """The folder of runs of a file of a run or of a case."""
    return path.parents[2] if NUMBER.fullmatch(path.parent.name) else path.parents[1]


def remove(folder: Path) -> None:
    import shutil  # rarely needed, slow import

    with explain_os_errors(folder):
        shutil.rmtree(folder)


def is_run(run: Path) -> bool:
    """Whether it is a run folder, with a plan or a result."""
    return os.path.lexists(run / "plan.json") or bool(finished_cases(run))


def created_at(run: Path) -> int:
    """Time of a run's plan, or else of its folder, in nanoseconds."""
    for file in (run / "plan.json", run):
        with suppress(OSError):
            return file.stat().st_mtime_ns
    return 0


def newest_run(runs: Path, names: list[str]) -> str:
    """The newest run by name, or by its plan for runs in the same second."""
    stamped = [run for run in names if STAMPED.match(run)] or names
    last = next((run for run in reversed(stamped) if is_run(runs / run)), stamped[-1])
    second = last[: len("20261115-101500")]
    return max(
        (run for run in stamped if run.startswith(second)),
        key=lambda run: (is_run(runs / run), created_at(runs / run)),
    )


def runs_in(runs: Path) -> list[str]:
    """Sorted names of run folders; other entries are ignored."""
    with explain_os_errors(runs), os.scandir(runs) as entries:
        return sorted(e.name for e in entries if RUN.fullmatch(e.name) and _is_folder(e))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder; a stat only for links, as a cyclic link would raise."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def finished_cases(run: Path) -> list[Path]:
    """Case folders of a run with a result, in order."""
    try:
        with os.scandir(run) as entries:
            cases = [Path(e.path) for e in entries if NUMBER.fullmatch(e.name) and _is_folder(e)]
        return sorted(case for case in cases if os.path.lexists(case / "result.json"))
    except (OSError, ValueError):
        return []


@contextmanager
def lock_run(run: Path) -> Iterator[None]:
    """Lock a run; UsageError if another process measures it."""
    with explain_os_errors(run), open(run / "lock", "w") as file:
        set_mode(run / "lock", run.parent)
        try:
            lock_file(file, wait=False)
        except BlockingIOError:
            raise UsageError(
                f"Run {run.name} is being measured by another assay.",
                hint="Wait until it ends, or stop it first.",
            ) from None
        yield


def _read_file(path: Path, read: Reader | None) -> bytes:
    with explain_os_errors(path):
        data = read(path.name) if read else read_plain(path, MAX_BYTES)
        if data is None:
            raise FileNotFoundError(errno.ENOENT, "it is in no pack", str(path))
        return data


@contextmanager
def explain_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unusable_error(path, error) from None


def _unusable_error(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{error.filename or path} cannot be used ({error.strerror}).",
        hint="Choose another folder with --home or ASSAY_HOME, or repair this one.",
    )

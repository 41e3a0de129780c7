"""Run folders, the truth: `runs/RUN/plan.json` and `runs/RUN/NNN/result.json`, written whole."""

from __future__ import annotations

import errno
import fcntl
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
from assay.core.executor import CasePlace
from assay.core.files import read_plain, write_whole
from assay.core.records import SCHEMA, Plan, Result
from assay.core.redaction import safe_text, safe_values

# A run's name, and an id: nothing that leads out of the folder of runs.
RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
STAMPED = re.compile(r"\d{8}-\d{6}-")  # as runs are named here
NUMBER = re.compile(r"[0-9]{3,6}")  # of a case in its run
_ID = re.compile(rf"{RUN.pattern}/{NUMBER.pattern}")
AMENDED = "amended.json"  # what a user said of a result after it was measured
MOST_BYTES = 1 << 30  # of a result, a plan or a document
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that looks like another
Reader = Callable[[str], bytes | None]  # files of a folder that lies elsewhere, by their names


def new_run(runs: Path, plan: Plan) -> Path:
    """A fresh run folder that holds its plan."""
    folder = runs / _new_id()
    with explained(folder):
        runs.mkdir(parents=True, exist_ok=True)
        while not _made(folder):
            folder = runs / _new_id()
        write_whole(folder / "plan.json", codec.encode(plan, indent=2))
    return folder


def _new_id() -> str:
    """The time, and four letters: of many runs in one second two may draw the same."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{stamp}-" + "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(4))


def _made(folder: Path) -> bool:
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    return True


def new_case(run: Path) -> CasePlace:
    """The place of the next case of a run: NNN, counted from 001."""
    with explained(run):
        number = 1 + max(
            (int(p.name) for p in run.iterdir() if NUMBER.fullmatch(p.name)), default=0
        )
        folder = run / f"{number:03d}"
        folder.mkdir()
    return CasePlace(f"{run.name}/{folder.name}", folder)


def write_result(folder: Path, result: Result) -> None:
    """Kept in its folder; where that is impossible, beside the temporary files, and said."""
    data = codec.encode(result)
    try:
        write_whole(folder / "result.json", data)
    except OSError as error:
        raise StoreError(
            f"The result could not be written to {folder} ({error.strerror}).",
            hint=_rescued(folder, data),
        ) from None


def _rescued(folder: Path, data: bytes) -> str:
    import tempfile  # rarely needed, and slow to load

    try:
        spare = Path(tempfile.mkdtemp(prefix="assay-")) / folder.parent.name / folder.name
        spare.mkdir(parents=True)
        write_whole(spare / "result.json", data)
    except OSError:
        return f"Make room there, then resume {folder.parent.name}."
    return f"It is saved in {spare.parent}. Make room, then: assay import {spare.parent}"


def read_result(folder: Path, read: Reader | None = None) -> Result:
    """The result in a case's folder, wherever that lies; its id leads nowhere else."""
    data = _needed(folder / "result.json", read)
    found = codec.decode(data, Result, str(folder / "result.json"))
    _check_id(found, folder, "RUN/NNN", bool(_ID.fullmatch(found.id)))
    amended = read(AMENDED) if read else read_document(folder / AMENDED)
    if amended is None:
        return found
    change = codec.decode(amended, Amendment, str(folder / AMENDED))
    return msgspec.structs.replace(found, label=change.label, tags=change.tags)


def read_own(folder: Path, read: Reader | None = None) -> Result:
    """The result in a case's folder of a store, under the id that the folder gives it."""
    found = read_result(folder, read)
    own = f"{folder.parent.name}/{folder.name}"
    _check_id(found, folder, f"{own} there", found.id == own)
    return found


def _check_id(found: Result, folder: Path, expected: str, holds: bool) -> None:
    if not holds:
        raise StoreError(
            f"{folder / 'result.json'} has the id {found.id[:60]!r}, but an id is {expected}.",
            hint="The file is damaged or was made to harm: move it away to hide it.",
        )


class Amendment(msgspec.Struct, frozen=True, kw_only=True):
    """The label and tags that a result was given later, in place of its own."""

    label: str = ""
    tags: dict[str, str] = {}
    schema: int = SCHEMA
    kind: Literal["amendment"] = "amendment"


def write_amendment(folder: Path, label: str, tags: Mapping[str, str]) -> None:
    """Beside the result, which is never changed."""
    change = Amendment(label=safe_text(label), tags=safe_values(tags))
    write_document(folder / AMENDED, codec.encode(change))


def read_plan(run: Path, read: Reader | None = None) -> Plan:
    path = run / "plan.json"
    return codec.decode(_needed(path, read), Plan, str(path))


def read_document(path: Path) -> bytes | None:
    try:
        return read_plain(path, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unusable(path, error) from None


def write_document(path: Path, data: bytes) -> None:
    with explained(path):
        write_whole(path, data)


def remove(folder: Path) -> None:
    import shutil  # rarely needed, and slow to load

    with explained(folder):
        shutil.rmtree(folder)


def is_run(run: Path) -> bool:
    """Whether assay made it: an empty folder, say, is none."""
    return os.path.lexists(run / "plan.json") or bool(finished(run))


def made_at(run: Path) -> int:
    """When a run was made, in nanoseconds, by its plan; without one, by its folder."""
    for file in (run / "plan.json", run):
        with suppress(OSError):
            return file.stat().st_mtime_ns
    return 0


def newest(runs: Path, names: list[str]) -> str:
    """Of runs there, the newest by its name; of those made within a second, by its plan."""
    stamped = [run for run in names if STAMPED.match(run)] or names
    last = next((run for run in reversed(stamped) if is_run(runs / run)), stamped[-1])
    second = last[: len("20261115-101500")]
    return max(
        (run for run in stamped if run.startswith(second)),
        key=lambda run: (is_run(runs / run), made_at(runs / run)),
    )


def runs_in(runs: Path) -> list[str]:
    """Names of the run folders there, in order. What else lies there is none of ours."""
    with explained(runs), os.scandir(runs) as entries:
        return sorted(e.name for e in entries if RUN.fullmatch(e.name) and _is_folder(e))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Without a look at each, but for links: one that leads to itself would raise."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def finished(run: Path) -> list[Path]:
    """Case folders of a run that hold a result, in order."""
    try:
        with os.scandir(run) as entries:
            cases = [Path(e.path) for e in entries if NUMBER.fullmatch(e.name) and _is_folder(e)]
        return sorted(case for case in cases if os.path.lexists(case / "result.json"))
    except (OSError, ValueError):
        return []


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """One measurer a run: a second `--resume` of the same run is refused."""
    with explained(run), open(run / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"Run {run.name} is being measured by another assay.",
                hint="Wait until it ends, or stop it first.",
            ) from None
        yield


def _needed(path: Path, read: Reader | None) -> bytes:
    with explained(path):
        data = read(path.name) if read else read_plain(path, MOST_BYTES)
        if data is None:
            raise FileNotFoundError(errno.ENOENT, "it is in no pack", str(path))
        return data


@contextmanager
def explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{error.filename or path} cannot be used ({error.strerror}).",
        hint="Choose another folder with --home or ASSAY_HOME, or repair this one.",
    )

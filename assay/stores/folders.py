"""Run folders, the truth: `runs/RUN/plan.json` and `runs/RUN/NNN/result.json`, written whole."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from assay import codec
from assay.errors import StoreError, UsageError
from assay.records import Plan, Result

COMPARISON, RACE = "comparison.json", "race.json"  # what such a run found, in its folder

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that looks like another


def new_run(runs: Path, plan: Plan) -> Path:
    """A fresh run folder that holds its plan."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    tail = "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(4))
    folder = runs / f"{stamp}-{tail}"
    with _explained(folder):
        folder.mkdir(parents=True)
        write_whole(folder / "plan.json", codec.encode(plan, indent=2))
    return folder


def new_case(run: Path) -> Path:
    """The folder of the next case of a run: NNN, counted from 001."""
    with _explained(run):
        number = 1 + max((int(p.name) for p in run.iterdir() if p.name.isdecimal()), default=0)
        folder = run / f"{number:03d}"
        folder.mkdir()
    return folder


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
        return "Make room there, then: assay run --resume " + folder.parent.name
    return f"It is saved in {spare.parent}. Make room, then: assay import {spare.parent}"


def read_result(folder: Path) -> Result:
    result = codec.decode(_read(folder / "result.json"), Result, str(folder / "result.json"))
    return result


def read_plan(run: Path) -> Plan:
    return codec.decode(_read(run / "plan.json"), Plan, str(run / "plan.json"))


def finished(run: Path) -> list[Path]:
    """Case folders of a run that hold a result, in order."""
    try:
        return sorted(p.parent for p in run.glob("[0-9]*/result.json"))
    except OSError:
        return []


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """One measurer a run: a second `--resume` of the same run is refused."""
    with _explained(run), open(run / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"Run {run.name} is being measured by another assay.",
                hint="Wait until it ends, or stop it first.",
            ) from None
        yield


def write_whole(path: Path, data: bytes) -> None:
    """All of it or nothing, even if the power fails: temporary name, fsync, rename, fsync."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _read(path: Path) -> bytes:
    with _explained(path):
        return path.read_bytes()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{error.filename or path} cannot be used ({error.strerror}).",
            hint="Choose another folder with --home or ASSAY_HOME, or mend this one.",
        ) from None

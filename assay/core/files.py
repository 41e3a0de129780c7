"""Atomic writes of files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.core.errors import AssayError, UsageError


def user_path(text: str | Path) -> Path:
    """Expand `~` and `~name` in a path."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UsageError(
            f"'{text}' begins with the home folder of an unknown user.",
            hint="Give the whole path, or put ./ before a name that begins with ~.",
        ) from None


def read_plain(path: Path, max_bytes: int) -> bytes:
    """Read a plain file of at most `max_bytes` bytes. Anything else (a pipe, a device, a link) and
    anything larger is an OSError, before a byte is read: a pipe would never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    with open(descriptor, "rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes >> 20} MiB", str(path))
    return data


def write_atomic(path: Path, data: bytes) -> None:
    """Write all of it or nothing, even if the power fails."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, synced and renamed to it at the end."""
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        yield temporary
        _sync(temporary)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync(path.parent)


def modified_time(path: Path) -> float:
    """Time of modification; 0 if another process has just removed the file."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


@contextmanager
def user_file(path: str | Path) -> Iterator[Path]:
    """`written_whole` for an output path of the user; creates its folder."""
    target = user_path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(target) as temporary:
            yield temporary
    except OSError as error:
        raise AssayError(
            f"{target} cannot be written ({error.strerror}).", hint="Choose another path."
        ) from None


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

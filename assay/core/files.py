"""Atomic writes of files."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from assay.core.descriptors import NEW_FILE
from assay.core.errors import AssayError, UsageError
from assay.core.systems import flags

READ = flags(os, ("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))


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
    with open_plain(path) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes >> 20} MiB", str(path))
    return data


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file for reading; anything else is an OSError, as in `read_plain`."""
    descriptor = os.open(path, READ)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    return open(descriptor, "rb")


def has_text_name(path: Path) -> bool:
    """Whether the path is valid UTF-8, as pages, databases and archives need it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def write_atomic(path: Path, data: bytes) -> None:
    """Write all of it or nothing, even if the power fails."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def atomic_path(path: Path, durable: bool = True) -> Iterator[Path]:
    """A new file beside `path`, renamed to it at the end, after a sync if it has to be `durable`.
    A link, a folder or a device at `path` is an OSError, and stays as it is."""
    _check_replaceable(path)
    temporary = _create_beside(path)
    try:
        yield temporary
        if durable:
            _sync(temporary)
        _check_replaceable(path)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        _sync(path.parent)


def _check_replaceable(path: Path) -> None:
    """OSError if there is something at `path` that is no regular file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a device"
        raise OSError(errno.EINVAL, f"{kind} is there, which stays as it is", str(path))


def _create_beside(path: Path) -> Path:
    """An empty file with a random name, which nobody can have put there before."""
    temporary = path.with_name(f".{os.urandom(8).hex()}-{path.name[-200:]}")
    os.close(os.open(temporary, NEW_FILE, 0o666))
    return temporary


def modified_time(path: Path) -> float:
    """Time of modification; 0 if another process has just removed the file."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


@contextmanager
def user_file(path: str | Path, durable: bool = True) -> Iterator[Path]:
    """`atomic_path` for an output path of the user; creates its folder."""
    target = user_path(path)
    with _explain_output_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(target, durable) as temporary:
            yield temporary


def write_user_file(path: str | Path, data: bytes) -> None:
    with user_file(path) as temporary:
        temporary.write_bytes(data)


def check_output(path: str | Path) -> None:
    """Check an output path of the user before the work: it is free, or has a regular file."""
    target = user_path(path)
    with _explain_output_errors(target):
        _check_replaceable(target)


@contextmanager
def _explain_output_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AssayError(
            f"{target} cannot be written ({error.strerror or error}).", hint="Choose another path."
        ) from None


def _sync(path: Path) -> None:
    if sys.platform == "win32" and path.is_dir():  # it cannot be opened there
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Files that are there whole or not at all: the one way in which assay writes them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.core.errors import AssayError, UsageError


def user_path(text: str | Path) -> Path:
    """A place as a user names it, `~` and `~name` included."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UsageError(
            f"'{text}' begins with the home folder of a user who is not here.",
            hint="Give the whole path, or put ./ before a name that begins with ~.",
        ) from None


def read_plain(path: Path, most: int) -> bytes:
    """All of a plain file of at most `most` bytes. Anything else (a pipe, a device, a link) and
    anything larger is an OSError, before a byte is read: a pipe would never end."""
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    with open(opened, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB", str(path))
    return data


def write_whole(path: Path, data: bytes) -> None:
    """All of it or nothing, even if the power fails."""
    with written_whole(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`: what is written there is synced, then takes its name."""
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


def modified(path: Path) -> float:
    """When it was last written; 0 where another process has just removed it."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


@contextmanager
def user_file(path: str | Path) -> Iterator[Path]:
    """`written_whole` where a user said so: its folder is made, and what fails is said in words."""
    place = user_path(path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(place) as temporary:
            yield temporary
    except OSError as error:
        raise AssayError(
            f"{place} cannot be written ({error.strerror}).", hint="Give another place."
        ) from None


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

"""What differs between operating systems: locks of files, and what needs Linux."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import IO, Any

from assay.core.errors import NotPossibleError

_SYSTEMS = {"darwin": "macOS", "win32": "Windows"}
_LINUX_MODULES = {"fcntl", "resource", "pwd", "termios"}  # of Python, missing on Windows


def linux_error(what: str) -> NotPossibleError:
    """For what measures, on a system on which nothing can be measured."""
    name = _SYSTEMS.get(sys.platform, sys.platform)
    return NotPossibleError(
        f"{what} needs Linux, and this is {name}.",
        hint="Results can be read, compared, imported and served here; measure on Linux, in a "
        "container, or under WSL.",
    )


def is_missing_module(error: ImportError) -> bool:
    """Whether a module of Python that Windows does not have was imported."""
    return sys.platform != "linux" and error.name in _LINUX_MODULES


def cpu_count() -> int:
    """Of the CPUs that this process may use, where the system says so."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def lock_file(file: IO[Any], wait: bool = True) -> None:
    """Lock an open file until it is closed; BlockingIOError if it is locked and this does not
    `wait`. Windows locks its first byte."""
    try:
        import fcntl
    except ImportError:
        _lock_byte(file, wait)
        return
    fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _lock_byte(file: IO[Any], wait: bool) -> None:
    try:
        import msvcrt
    except ImportError:  # a simulated Windows: nothing else to lock with
        return
    locking: Any = msvcrt
    while True:
        try:
            locking.locking(file.fileno(), locking.LK_LOCK if wait else locking.LK_NBLCK, 1)
            return
        except OSError:  # LK_LOCK waits ten seconds
            if not wait:
                raise BlockingIOError from None


def flags(system: object, names: Sequence[str]) -> int:
    """Flags of os.open, without those that this system does not have."""
    value = 0
    for name in names:
        value |= getattr(system, name, 0)
    return value

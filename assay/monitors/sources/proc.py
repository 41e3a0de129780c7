"""Kernel files that stay open: a read is one system call, and reused pids are not confused.

An open file of /proc/PID belongs to that process. After its exit a read fails, even if the pid is
reused.
"""

from __future__ import annotations

import os
from collections.abc import Callable


class OpenFile:
    """One small file of /proc or /sys. Reads return b"" in place of errors."""

    def __init__(self, path: str, size: int = 4096) -> None:
        self._size = size
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._fd = -1

    def read(self) -> bytes:
        if self._fd < 0:
            return b""
        try:
            return os.pread(self._fd, self._size, 0)
        except OSError:  # the process has exited, or no permission
            return b""

    def number(self) -> int | None:
        """The first word, if it is an integer."""
        return read_whole(self.read().split(maxsplit=1)[:1])

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class FilePerProcess:
    """The same file of each process of a tree, opened at first use."""

    def __init__(self, path: Callable[[int], str]) -> None:
        self._path = path
        self._files: dict[int, OpenFile] = {}

    def read(self, pid: int) -> bytes:
        if pid not in self._files:
            self._files[pid] = OpenFile(self._path(pid))
        return self._files[pid].read()

    def forget(self, pid: int) -> None:
        if pid in self._files:
            self._files.pop(pid).close()

    def close(self) -> None:
        for pid in list(self._files):
            self.forget(pid)


def line_value(text: bytes, name: bytes) -> int | None:
    """The number after `name` at the start of a line."""
    start = 0 if text.startswith(name) else text.find(b"\n" + name) + 1
    if start == 0 and not text.startswith(name):
        return None
    end = text.find(b"\n", start)
    return read_whole(text[start + len(name) : end if end >= 0 else None].split(maxsplit=1)[:1])


def read_whole(words: list[bytes]) -> int | None:
    return int(words[0]) if words and words[0].isdigit() else None


class Tree:
    """A worker and its descendants, by parent or session."""

    def __init__(self, root: int, proc: str = "/proc") -> None:
        self.pids: list[int] = [root]  # the worker first
        self._root = root
        self._proc = proc
        self._known: set[str] = set()

    def refresh(self) -> None:
        """Update `pids`. Processes never join the tree later, so each is read once."""
        try:
            names = {name for name in os.listdir(self._proc) if name.isdigit()}
        except OSError:
            return
        ours = {pid for pid in self.pids if str(pid) in names} | {self._root}
        for name in sorted(names - self._known, key=int):
            parent, session = _parent_and_session(f"{self._proc}/{name}/stat")
            if parent in ours or session == self._root:
                ours.add(int(name))
        self._known = names
        self.pids = [self._root, *sorted(ours - {self._root})]


def _parent_and_session(path: str) -> tuple[int, int]:
    try:
        with open(path, "rb") as file:
            # the name in parentheses may contain spaces and parentheses
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[1]), int(fields[3])
    except (OSError, IndexError, ValueError):  # it has exited
        return -1, -1

"""The processes below a worker, found by looking only at those that are new."""

from __future__ import annotations

import os


class Tree:
    """A worker and its descendants, also those whose parent has left: they share its session."""

    def __init__(self, root: int, proc: str = "/proc") -> None:
        self.pids: list[int] = [root]  # the worker first
        self._root = root
        self._proc = proc
        self._known: set[str] = set()

    def refresh(self) -> None:
        """A process that was not of the tree never becomes one, so each is read only once."""
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
            # the name in parentheses may hold spaces and parentheses itself
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[1]), int(fields[3])
    except (OSError, IndexError, ValueError):  # it vanished while we looked
        return -1, -1

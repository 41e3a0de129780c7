"""No process outlives assay: each carries a mark, and a guard process kills what is left.

A mark is an environment variable, so children, orphans and daemons inherit it, in any group or
session. The guard has no mark: it waits until assay exits (also by kill -9), and then kills all
processes with assay's mark.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import itertools
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

MARK = "ASSAY_STARTED_BY"
ROUNDS = 50  # of search and kill: a process may be forking
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h

_own_mark = ""  # this process's mark, once it has a guard
_guard: subprocess.Popen[bytes] | None = None
_spared_pids: set[int] | None = None  # children not started by us; None: orphans are not adopted
_numbers = itertools.count(1)


def mark_environment() -> dict[str, str]:
    """Environment variables for one new process, with a unique mark."""
    _start_guard()
    outer = os.environ.get(MARK, "")
    return {MARK: f"{outer}:{_own_mark}.{next(_numbers)}."}


def kill_marked(variables: dict[str, str], group: int = 0) -> list[str]:
    """Kill processes that a process left behind; returns their names, as `sleep (1234)`.

    Its `group` has been killed already: members of it are not named.
    """
    mark = variables[MARK].rpartition(":")[2]
    left = _kill_with_mark(mark.encode(), {os.getpid()}, group)
    return [*left, *(_kill_orphans() if _spared_pids is not None else ())]


@contextlib.contextmanager
def adopt_orphans() -> Iterator[None]:
    """Adopt orphans, so that they are seen even without a mark. For the command line only: the
    user of a library may have orphans of their own."""
    global _spared_pids
    if _spared_pids is None and _become_subreaper(1):
        _spared_pids = set(_children())
    try:
        yield
    finally:
        _spared_pids = None
        _become_subreaper(0)


def _become_subreaper(yes: int) -> bool:
    try:
        status: int = ctypes.CDLL(None).prctl(_SUBREAPER, yes, 0, 0, 0)
    except (OSError, AttributeError):  # not Linux
        return False
    return status == 0


def _start_guard() -> None:
    global _guard, _own_mark
    if _guard and _guard.pid and _own_mark.startswith(f"{os.getpid()}-"):
        return
    _own_mark = f"{os.getpid()}-{uuid.uuid4().hex}"
    script = Path(__file__)
    try:
        _guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script), str(os.getpid()), _own_mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # no signal to our group reaches it
            cwd="/",
        )
    except OSError:  # out of processes or descriptors: the measurement will report it
        _guard = None
        return
    atexit.register(_stop_guard, _guard, os.getpid())


def _stop_guard(guard: subprocess.Popen[bytes], owner: int) -> None:
    """At a normal exit, let the guard search once more, and wait for it."""
    if os.getpid() != owner:  # a fork of this process exits
        return
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        assert guard.stdin
        guard.stdin.close()
        guard.wait(10)


def _kill_with_mark(mark: bytes, excluded: set[int], unnamed_group: int = 0) -> list[str]:
    """Kill all processes with this mark; returns their names. New ones may start meanwhile."""
    names: dict[int, str] = {}
    for _ in range(ROUNDS):
        pids = [pid for pid in _pids_with_mark(mark) if pid not in excluded]
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getpgid(pid) != unnamed_group:
                    names.setdefault(pid, f"{_name(pid)} ({pid})")
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    return list(names.values())


def _pids_with_mark(mark: bytes) -> Iterator[int]:
    """Zombies have no environment and are skipped."""
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if mark in file.read():
                        yield int(entry)
            except OSError:  # another user's, or gone meanwhile
                continue


def _kill_orphans() -> list[str]:
    """Orphans without a mark. Short-lived helpers of assay stay in its session, and a worker that
    is not reaped yet has its mark."""
    names = []
    ours = os.getsid(0)
    for pid in _children():
        if pid in (_spared_pids or ()) or (_guard and pid == _guard.pid):
            continue
        try:
            marked_by_us = _own_mark.encode() in Path(f"/proc/{pid}/environ").read_bytes()
            if os.getsid(pid) == ours or marked_by_us or _name(pid) == "nvidia-smi":
                continue
            names.append(f"{_name(pid)} ({pid})")
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except OSError:
            continue
    return names


def _children() -> list[int]:
    pids: list[int] = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/self/task/{task}/children").read_text()
            pids += map(int, text.split())
    return pids


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "a process"


def _watch() -> None:
    """Main function of the guard: runs until its master exits or closes stdin."""
    master, mark = int(sys.argv[1]), sys.argv[2].encode()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    _wait_for_exit(master)
    _kill_with_mark(mark, {os.getpid(), master})


def _wait_for_exit(master: int) -> None:
    import select

    try:
        life = os.pidfd_open(master)
    except OSError:
        return
    if os.getppid() == master:  # else it exited before
        select.select([life, sys.stdin], [], [])


if __name__ == "__main__":
    _watch()

"""Functions that each end a worker in another way. Their worker calls what they return."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def fine(size=1000):
    """The sum of some numbers."""
    return lambda: sum(range(size))


def raises():
    def step():
        raise ValueError("no good")

    return step


def raises_later():
    calls = iter(range(100))

    def step():
        if next(calls, None) is None:
            raise ValueError("no good any more")

    return step


def fails_to_build():
    raise RuntimeError("cannot be built")


def exits():
    return lambda: os._exit(3)


def exits_in_good_order():
    return lambda: sys.exit(0)


def segfaults():
    return lambda: ctypes.string_at(0)


def is_killed():
    return lambda: os.kill(os.getpid(), signal.SIGKILL)


def has_no_memory():
    return lambda: bytearray(1 << 60)


def hangs():
    return lambda: time.sleep(1000)


def hangs_deaf():
    """Does not listen to SIGTERM either."""

    def step():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)

    return step


def shouts():
    """A gigabyte on standard output, in its first step."""
    block = b"x" * (1 << 20)
    blocks = iter(range(1024))

    def step():
        for _ in blocks:
            os.write(1, block)

    return step


def closes_its_pipes():
    def step():
        os.closerange(3, 100)
        time.sleep(1000)

    return step


def leaves_a_child(note=""):
    """Starts a process that would live on, and writes its number down."""

    def step():
        child = subprocess.Popen(["sleep", "1000"])
        Path(note).write_text(str(child.pid))
        time.sleep(1000)

    return step


def leaves_a_daemon(note=""):
    """Starts a process that leaves its group, its session and its parent, and ends well."""

    def step():
        if not Path(note).exists():
            words = f"setsid sleep 1000 & echo $! > '{note}'"
            subprocess.run(["sh", "-c", words], check=True)

    return step


def holds_the_lock(note=""):
    """No thread of Python runs while it sleeps."""

    def step():
        Path(note).write_text(str(os.getpid()))
        ctypes.PyDLL(None).sleep(1000)

    return step


def gets_signal(number=40):
    return lambda: os.kill(os.getpid(), number)


def forks():
    """Both of a fork come back from the first step."""
    steps = iter(range(10))
    return lambda: os.fork() if next(steps, 1) == 0 else None


def writes_into_the_pipe():
    return lambda: os.write(int(sys.argv[2]), b"hello, world")


def answers_wrongly():
    """A whole message, but none that was asked for."""
    body = b"\x81\xa4type\xa4done"
    return lambda: os.write(int(sys.argv[2]), len(body).to_bytes(4, "little") + body)


def has_a_fact_of_none():
    from assay.core.sessions import Job

    return Job(model=lambda: None, facts={"a": None})


def says(status="wonderful"):
    from assay.core.errors import EndingError

    def step():
        raise EndingError(status, "so it says")

    return step


def not_callable():
    return 42


class Both:
    """Made for plain Python only."""

    def python(self, size=10):
        return lambda: sum(range(size))


class Neither:
    def tenserflow(self):
        return None

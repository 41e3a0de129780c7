"""Small cases of plain Python: the frozen store was measured with them, and tests measure them."""

import os
import time
from pathlib import Path


def add(size=200_000):
    """The sum of some numbers."""
    return lambda: sum(range(size))


def nap(ms=2):
    """A step of a known length."""
    return lambda: time.sleep(ms / 1000)


def nap_longer(ms=3):
    return lambda: time.sleep(ms / 1000)


def wait_for(file="go"):
    """A step that takes long until the file is there."""
    return lambda: time.sleep(0.001 if Path(file).exists() else 30)


def raises():
    def step():
        raise ValueError("no good")

    return step


def fails_to_build():
    raise RuntimeError("cannot be built")


def exits():
    return lambda: os._exit(3)

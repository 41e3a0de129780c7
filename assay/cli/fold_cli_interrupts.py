"""How a verb ends early: signals count as Ctrl-C, and what was found so far is shown."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import click

from assay.core.errors import signal_name
from assay.core.guard import adopting_orphans

A = TypeVar("A")


PATIENCE = 3.0  # seconds after an interrupt in which more of them say nothing new


def handle_signals() -> None:
    """A lost terminal or a polite kill is an interrupt like any: nothing is lost by it, nor by a
    second one that comes while the first is being obeyed."""
    if threading.current_thread() is threading.main_thread():
        interrupt = _Interrupt()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, interrupt)
    if context := click.get_current_context(silent=True):
        context.with_resource(adopting_orphans())  # until the verb has ended


def last_of(found: Iterator[A], show: Callable[[A], None]) -> A:
    """The last of what grows, shown in any case."""
    handle_signals()
    seen: list[A] = []
    try:
        seen.extend(found)
    finally:
        if seen:
            show(seen[-1])
    return seen[-1]


class _Interrupt:
    """Raises, and then lets what it interrupted be put away before it raises again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = -PATIENCE

    def __call__(self, number: int, _: object) -> None:
        now = self._clock()
        if now - self._last < PATIENCE:
            return
        self._last = now
        words = "" if number == signal.SIGINT else f"ended by {signal_name(number)}"
        raise KeyboardInterrupt(*filter(None, [words]))

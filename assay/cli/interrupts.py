"""How a verb ends early: signals count as Ctrl-C, and what was found so far is shown."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import TypeVar

A = TypeVar("A")


def handle_signals() -> None:
    """A lost terminal or a polite kill is an interrupt like any: nothing is lost by it."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, _interrupt)


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


def _interrupt(number: int, _: object) -> None:
    raise KeyboardInterrupt(f"ended by {signal.Signals(number).name}")

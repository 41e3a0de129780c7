"""Timing of text: how long the first token takes, and each one after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from assay.core import messages
from assay.core.records import Samples
from assay.core.sessions import FIRST_TOKEN, NEXT_TOKEN, Generating, Stepped
from assay.worker import timing

MOST = 1000  # requests


class TextSession(Generating, Stepped, Protocol):
    """A session that makes text."""


def timed(
    session: TextSession, order: messages.TimeTokens, clock: timing.Clock = timing.clock
) -> Iterator[Samples]:
    """Of requests one after the other, each begun when the one before it has ended.

    Where the host sees every token, each has a time of its own, from the one before it. Where one
    compiled loop makes them all, a request has one: that of the whole less that of its first
    token, shared by those after it.
    """
    for _ in range(order.warm_up):
        _request(session, clock)
    first: list[float] = []
    following: list[float] = []
    end = clock() + order.seconds
    while len(first) < order.least or (clock() < end and len(first) < MOST):
        begun, rest = _request(session, clock)
        first.append(begun)
        following += rest
    yield Samples(metric=FIRST_TOKEN, unit="s", phase="steady", values=tuple(first))
    if following:
        yield Samples(metric=NEXT_TOKEN, unit="s", phase="steady", values=tuple(following))


def _request(session: TextSession, clock: timing.Clock) -> tuple[float, list[float]]:
    """The time of the first token, and of those after it."""
    start = clock()
    session.first_token()
    seen = clock()
    first, others = seen - start, session.tokens - 1
    if session.sees_tokens:
        return first, [_next(session, clock) for _ in range(others)]
    whole = timing.time_steps(session, 1, clock)[1]
    return first, [(whole - first) / others] if others else []


def _next(session: TextSession, clock: timing.Clock) -> float:
    start = clock()
    session.next_token()
    return clock() - start

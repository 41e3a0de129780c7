"""One thing a profiler saw, whichever profiler it was."""

from __future__ import annotations

from typing import Literal, NamedTuple

Place = Literal["host", "device", ""]


class Event(NamedTuple):
    """A named stretch of time of one lane. A tuple, since a trace has many thousands."""

    name: str
    process: str  # or device
    thread: str  # or stream
    start: float  # seconds, of the trace's own clock
    seconds: float
    place: Place  # where an operation ran; "" for what is no operation
    source: str = ""  # what of the model it comes from, where the framework tells

"""Events of a trace → operations, those that took longest first."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from assay.formats.traces.chrome import Event

Named = tuple[str, str]  # name and source

# Clocks of profilers are rounded: an event that ends this much after its parent is still inside it.
SLACK = 1e-9


def operations(events: Iterable[Event]) -> list[Operation]:
    """By name, with the time each took itself: what another operation did inside it is not counted.

    Where a device ran operations, those are meant: the host's then only enqueue.
    """
    found = [event for event in events if event.place]
    place = "device" if any(event.place == "device" for event in found) else "host"
    seconds: dict[Named, float] = {}
    counts: dict[Named, int] = {}
    for event, own in _own_times(event for event in found if event.place == place):
        named = event.name, event.source
        seconds[named] = seconds.get(named, 0.0) + own
        counts[named] = counts.get(named, 0) + 1
    total = sum(seconds.values())
    return [
        Operation(
            name=named[0],
            seconds=length,
            share=length / total if total else 0.0,
            count=counts[named],
            place=place,
            source=named[1],
        )
        for named, length in sorted(seconds.items(), key=lambda item: -item[1])
    ]


def _own_times(events: Iterable[Event]) -> list[tuple[Event, float]]:
    lanes: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        lanes.setdefault((event.process, event.thread), []).append(event)
    return [own for lane in lanes.values() for own in _of_lane(lane)]


def _of_lane(events: list[Event]) -> list[tuple[Event, float]]:
    """Each event's time without that of the events directly inside it."""
    ordered = sorted(events, key=lambda event: (event.start, -event.seconds))
    own = [event.seconds for event in ordered]
    around: list[int] = []  # indices of the events that are still open
    for index, event in enumerate(ordered):
        while around and _end(ordered[around[-1]]) < event.start + event.seconds - SLACK:
            around.pop()
        if around:
            own[around[-1]] -= event.seconds
        around.append(index)
    return list(zip(ordered, own, strict=True))


def _end(event: Event) -> float:
    return event.start + event.seconds


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation of a profiled model took, over all its calls."""

    name: str
    seconds: float  # its own: without operations inside it
    share: float  # of the time of all operations
    count: int
    place: str  # host or device
    source: str = ""  # what of the model it comes from, where the framework tells

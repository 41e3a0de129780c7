"""Events of a trace → operations, longest first."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from assay.formats.traces.chrome import Event

OperationKey = tuple[str, str]  # name and source

# Clocks are rounded: an event that ends this much after its parent is still inside.
SLACK = 1e-9


def operations(events: Iterable[Event]) -> list[Operation]:
    """Operations by name, with their own time, without nested operations.

    Operations of devices if there are any: those of the host then only enqueue.
    """
    ran = [event for event in events if event.place]
    place = "device" if any(event.place == "device" for event in ran) else "host"
    seconds: dict[OperationKey, float] = {}
    counts: dict[OperationKey, int] = {}
    for event, own_time in _own_times(event for event in ran if event.place == place):
        operation = event.name, event.source
        seconds[operation] = seconds.get(operation, 0.0) + own_time
        counts[operation] = counts.get(operation, 0) + 1
    total = sum(seconds.values())
    return [
        Operation(
            name=operation[0],
            seconds=length,
            share=length / total if total else 0.0,
            count=counts[operation],
            place=place,
            source=operation[1],
        )
        for operation, length in sorted(seconds.items(), key=lambda item: -item[1])
    ]


def _own_times(events: Iterable[Event]) -> list[tuple[Event, float]]:
    lanes: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        lanes.setdefault((event.process, event.thread), []).append(event)
    return [own for lane in lanes.values() for own in _lane_times(lane)]


def _lane_times(events: list[Event]) -> list[tuple[Event, float]]:
    """Time of each event without its direct children."""
    ordered = sorted(events, key=lambda event: (event.start, -event.seconds))
    own = [event.seconds for event in ordered]
    open_events: list[int] = []  # indices of unfinished events
    for index, event in enumerate(ordered):
        while open_events and _end(ordered[open_events[-1]]) < event.start + event.seconds - SLACK:
            open_events.pop()
        if open_events:
            own[open_events[-1]] -= event.seconds
        open_events.append(index)
    return list(zip(ordered, own, strict=True))


def _end(event: Event) -> float:
    return event.start + event.seconds


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of a profiled model, over all its calls."""

    name: str
    seconds: float  # without nested operations
    share: float  # of the time of all operations
    count: int
    place: str  # host or device
    source: str = ""  # part of the model, if the framework reports it

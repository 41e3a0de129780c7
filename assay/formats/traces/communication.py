"""Communication in a trace: time of collective operations in each step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from assay.formats.traces.chrome import Event

# Collective operations by the names their makers give them: gloo and NCCL in torch (an annotation,
# or a kernel), XLA's instructions in JAX, TensorFlow's nodes (NAME:TYPE).
_COLLECTIVE = re.compile(
    r"gloo:|nccl|(all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)\b"
    r"|.*:(Collective(Reduce|Gather|AllToAll)|Nccl)",
    re.IGNORECASE,
)
_STEP = re.compile(r"step|ProfilerStep#\d+")  # as `backends._profilers` marks them
Span = tuple[float, float]


def shares(events: Iterable[Event]) -> list[float]:
    """Share of each profiled step with a collective operation in progress on any device.

    Waiting for other devices counts. Host events count only if the trace has no device events.
    Empty: no collective operation in the trace.
    """
    steps: list[Span] = []
    spans: dict[bool, list[Span]] = {True: [], False: []}  # by: on a device
    devices = False
    for event in events:
        span = event.start, event.start + event.seconds
        devices |= event.place == "device"
        if _COLLECTIVE.match(event.name):
            spans[event.place == "device"].append(span)
        elif not event.place and _STEP.fullmatch(event.name):
            steps.append(span)
    busy = _merge(spans[devices])
    return [_overlap(step, busy) / (step[1] - step[0]) for step in sorted(steps)] if busy else []


def _merge(spans: Sequence[Span]) -> list[Span]:
    """Merge overlapping spans."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _overlap(step: Span, busy: Sequence[Span]) -> float:
    return sum(max(0.0, min(step[1], end) - max(step[0], start)) for start, end in busy)

"""Communication in a trace: when the devices of a step were exchanging what they computed."""

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
    """Of each profiled step, the share of its time in which a collective operation was under way.

    On any device of the trace; one that waits there for the others counts. Where devices are seen
    themselves, what the host only enqueues does not. Empty: the trace names no such operation.
    """
    steps: list[Span] = []
    found: dict[bool, list[Span]] = {True: [], False: []}  # by: on a device
    devices = False
    for event in events:
        span = event.start, event.start + event.seconds
        devices |= event.place == "device"
        if _COLLECTIVE.match(event.name):
            found[event.place == "device"].append(span)
        elif not event.place and _STEP.fullmatch(event.name):
            steps.append(span)
    busy = _joined(found[devices])
    return [_within(step, busy) / (step[1] - step[0]) for step in sorted(steps)] if busy else []


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Without what overlaps."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _within(step: Span, busy: Sequence[Span]) -> float:
    return sum(max(0.0, min(step[1], end) - max(step[0], start)) for start, end in busy)

"""Chrome's trace format, which Perfetto opens too: PyTorch's is read, others are written."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from assay.core.codec import UNREADABLE
from assay.core.protobuf import DamagedError

# PyTorch's categories of events that are operations.
_PLACES: dict[str, Place] = {
    "cpu_op": "host",
    "kernel": "device",
    "gpu_memcpy": "device",
    "gpu_memset": "device",
}


class _TraceEvent(msgspec.Struct, frozen=True):
    """The fields of an event that are used."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = ""
    tid: int | str = ""
    ts: float = 0.0
    dur: float = 0.0


class _Document(msgspec.Struct, frozen=True):
    traceEvents: tuple[_TraceEvent, ...]  # as the format has it


def events(data: bytes) -> Iterator[Event]:
    """Events with a duration of a trace, gzipped or not; the file has microseconds."""
    try:
        text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        document = msgspec.json.decode(text, type=_Document, strict=False)
    except (OSError, EOFError, zlib.error, *UNREADABLE) as error:
        raise DamagedError(f"it is no Chrome trace ({error})") from None
    for event in document.traceEvents:
        if event.ph == "X":
            kind = _PLACES.get(event.cat, "")
            yield Event(
                event.name, str(event.pid), str(event.tid), event.ts / 1e6, event.dur / 1e6, kind
            )


def document(events: Iterable[Event]) -> bytes:
    """A gzipped trace that chrome://tracing and Perfetto open."""
    processes: dict[str, int] = {}
    threads: dict[tuple[str, str], int] = {}
    written: list[dict[str, Any]] = []
    for event in events:
        pid = processes.setdefault(event.process, len(processes) + 1)
        tid = threads.setdefault((event.process, event.thread), len(threads) + 1)
        written.append(
            {
                "ph": "X",
                "name": event.name,
                "cat": f"{event.place}_op" if event.place else "other",
                "pid": pid,
                "tid": tid,
                "ts": event.start * 1e6,
                "dur": event.seconds * 1e6,
                "args": {"source": event.source} if event.source else {},
            }
        )
    titles = [_title("process_name", name, pid, 0) for name, pid in processes.items()]
    titles += [
        _title("thread_name", name, processes[owner], tid) for (owner, name), tid in threads.items()
    ]
    text = msgspec.json.encode({"displayTimeUnit": "ms", "traceEvents": titles + written})
    return gzip.compress(text, mtime=0)


def _title(kind: str, name: str, pid: int, tid: int) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


Place = Literal["host", "device", ""]


class Event(NamedTuple):
    """A named interval of one lane. A tuple, as traces have many thousands."""

    name: str
    process: str  # or device
    thread: str  # or stream
    start: float  # seconds, of the trace's own clock
    seconds: float
    place: Place  # where an operation ran; "": no operation
    source: str = ""  # part of the model, if the framework reports it

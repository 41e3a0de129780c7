"""Find and read traces in the folder of a profiler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.core.files import read_plain
from assay.formats.traces import chrome, xplane
from assay.formats.traces.chrome import Event

MAX_BYTES = 2 << 30  # of a trace
XSPACE, CHROME = ".xplane.pb", ".trace.json.gz"


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    file: str  # for Perfetto and chrome://tracing
    plugin: str  # of TensorBoard, which opens the folder


def find_trace(folder: Path) -> Trace | None:
    """The newest trace; an XSpace file without a Chrome trace is converted."""
    spaces = _newest(folder, XSPACE)
    if spaces:
        file = Path(str(spaces[-1]).removesuffix(XSPACE) + CHROME)
        if not file.exists():
            file.write_bytes(chrome.document(xplane.events(read_plain(spaces[-1], MAX_BYTES))))
        return Trace(file=str(file), plugin="xprof")
    traces = _newest(folder, CHROME)
    return Trace(file=str(traces[-1]), plugin="torch-tb-profiler") if traces else None


def events(folder: Path) -> Iterator[Event]:
    """Events of all traces. XSpace files are preferred: JAX truncates its Chrome traces."""
    spaces = _newest(folder, XSPACE)
    for file in spaces or _newest(folder, CHROME):
        read = xplane.events if spaces else chrome.events
        yield from read(read_plain(file, MAX_BYTES))


def _newest(folder: Path, ending: str) -> list[Path]:
    files = [file for file in folder.rglob(f"*{ending}") if file.is_file()]
    return sorted(files, key=lambda file: file.stat().st_mtime_ns)

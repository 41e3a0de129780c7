"""The folder a profiler wrote into: which trace is in it, and what opens it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.formats.traces import chrome, xplane
from assay.formats.traces.chrome import Event

XSPACE, CHROME = ".xplane.pb", ".trace.json.gz"


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    file: str  # for Perfetto and chrome://tracing
    plugin: str  # of TensorBoard, which opens the folder


def complete(folder: Path) -> Trace | None:
    """The newest trace; a Chrome trace is made beside an XSpace file that has none."""
    spaces = _newest(folder, XSPACE)
    if spaces:
        file = Path(str(spaces[-1]).removesuffix(XSPACE) + CHROME)
        if not file.exists():
            file.write_bytes(chrome.document(xplane.events(spaces[-1].read_bytes())))
        return Trace(file=str(file), plugin="xprof")
    found = _newest(folder, CHROME)
    return Trace(file=str(found[-1]), plugin="torch-tb-profiler") if found else None


def events(folder: Path) -> Iterator[Event]:
    """Of every trace there. XSpace files are read themselves: JAX cuts its Chrome traces."""
    spaces = _newest(folder, XSPACE)
    for file in spaces or _newest(folder, CHROME):
        read = xplane.events if spaces else chrome.events
        yield from read(file.read_bytes())


def _newest(folder: Path, ending: str) -> list[Path]:
    return sorted(folder.rglob(f"*{ending}"), key=lambda file: file.stat().st_mtime_ns)

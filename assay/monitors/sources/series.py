"""Series of monitors: one line of JSON per sample, and the peaks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from assay.core.codec import UNREADABLE
from assay.core.contracts import Peak
from assay.core.files import read_plain

MAX_BYTES = 256 << 20  # of a log: a day of samples, ten times a second


def read(path: Path) -> list[dict[str, float]]:
    """The lines of a log, also of PerfZero's. Invalid lines are skipped; what is no plain file, or
    too large, has none."""
    rows = []
    try:
        data = read_plain(path, MAX_BYTES)
    except OSError:
        return []
    for line in data.splitlines():
        try:
            rows.append(msgspec.json.decode(line, type=dict[str, float]))
        except UNREADABLE:  # truncated, or of another program
            continue
    return [row for row in rows if "time" in row]


class Series:
    """Lines start like PerfZero's, `time`, `rss`, `vms`, `cpu_percent`; others follow.

    Write errors lose lines, not the measurement.
    """

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO | None = None
        with suppress(OSError):
            self._file = path.open("ab")  # a case may have several processes
        self._line: dict[str, float] = {}
        self._metrics: dict[str, _Metric] = {}

    def add(self, seconds: float, passed: float, metrics: Mapping[str, float]) -> None:
        """Write a line per sample of the process, with the last values of other monitors."""
        for name, value in metrics.items():
            if math.isfinite(value):
                self._line[name] = round(value, 4)
                self._metrics.setdefault(name, _Metric()).add(value, passed)
        if "rss" in metrics:
            first = {name: self._line.get(name, 0.0) for name in ("rss", "vms", "cpu_percent")}
            line = {"time": round(seconds, 3), **first, **self._line}
            self._write(msgspec.json.encode(line) + b"\n")
            self._line = {}

    def peaks(self, peaks: Mapping[str, Peak]) -> dict[str, float]:
        return {
            name: self._metrics[metric].value(how)
            for name, (metric, how) in peaks.items()
            if metric in self._metrics
        }

    def close(self) -> None:
        if self._file:
            with suppress(OSError):
                self._file.close()

    def _write(self, line: bytes) -> None:
        if self._file:
            try:
                self._file.write(line)
            except OSError:
                self.close()
                self._file = None


@dataclass
class _Metric:
    """Running statistics of a metric. Means are over time, not over samples."""

    highest: float = -math.inf
    latest: float = 0.0
    area: float = 0.0
    seconds: float = 0.0

    def add(self, value: float, passed: float) -> None:
        self.highest, self.latest = max(self.highest, value), value
        self.area += value * passed
        self.seconds += passed

    def value(self, how: str) -> float:
        if how == "mean":
            return self.area / self.seconds if self.seconds > 0 else self.latest
        return self.highest if how == "max" else self.latest

"""Watts while something runs, where the kernel's counters can be read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from assay.monitors.energy import EnergyMonitor


class Watched:
    watts = 0.0  # 0: not measured


class EnergyMeter:
    def __init__(self) -> None:
        self._monitor = EnergyMonitor()

    def missing(self) -> str:
        return self._monitor.missing()

    @contextmanager
    def watched(self) -> Iterator[Watched]:
        """Of the whole machine: what else runs is counted too."""
        found = Watched()
        if self.missing():
            yield found
            return
        before, start = self._joules(), time.monotonic()
        yield found
        found.watts = (self._joules() - before) / (time.monotonic() - start)

    def _joules(self) -> float:
        return self._monitor.sample(())["cpu_energy"]

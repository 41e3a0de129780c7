"""The stages of a tuning: how long each took, and about how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from assay.core.progress import Progress, ProgressCallback
from assay.core.records import Case

# Of the whole time, about.
SHARES = {
    "capture": 0.08,
    "calibrate": 0.04,
    "times": 0.25,
    "effects": 0.28,
    "refine": 0.05,
    "confirm": 0.3,
}
FIRST = 0.05  # of the whole: before that much is done, no guess of the rest is made


class Stages:
    def __init__(self, model: str, budget: float, progress: ProgressCallback) -> None:
        self._case, self._budget = Case(workload=model, backend="native"), budget
        self._progress, self._begun = progress, time.monotonic()
        self.took: dict[str, float] = {}

    @property
    def spent(self) -> float:
        return time.monotonic() - self._begun

    @property
    def out_of_time(self) -> bool:
        return self.spent > self._budget

    @contextmanager
    def during(self, stage: str) -> Iterator[None]:
        self.told(stage, 0.0, stage)
        before = self.spent
        yield
        self.took[stage] = round(self.spent - before, 3)

    def counted(self, stage: str, what: str, done: int, count: int) -> None:
        self.told(stage, done / count, f"{what}, {done} of {count}")

    def told(self, stage: str, share: float, what: str) -> None:
        """So much of a stage is done."""
        names = list(SHARES)
        done = sum(SHARES[name] for name in names[: names.index(stage)]) + share * SHARES[stage]
        if done > FIRST:
            left = self.spent / done - self.spent
            what = f"{what}, about {max(1, round(left))} s left"
        self._progress(Progress(case=self._case, phase="steady", note=what))

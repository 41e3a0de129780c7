"""What a session shows of its work, and that a later process need not show it again."""

from __future__ import annotations

import numpy as np

from assay.core.messages import Open
from assay.core.records import Case
from assay.core.sessions import Job
from assay.worker.server import evidence

CASE = Case(workload="w", backend="b")


class Shown:
    items = 2

    def outputs(self):
        return np.array([[3.0, 4.0]], np.float32)

    def macs(self):
        return 10.0


def test_counts_and_outputs_are_shown_unless_they_are_known():
    job = Job(model=None, multiply_adds=7)

    whole = evidence(Shown(), job, Open(case=CASE))
    later = evidence(Shown(), job, Open(case=CASE, outputs=False, counts=False))

    assert (whole["counted_multiply_adds"], whole["outputs"]) == (5, "3 4")
    assert later == {"multiply_adds": 7}

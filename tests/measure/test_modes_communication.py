"""The share of communication of a case: asked of its worker's profiler, or why it is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.messages import LateFacts, ProfileSteps
from assay.core.records import Case, Procedure, Samples
from assay.formats.traces import chrome
from assay.formats.traces.chrome import Event
from assay.measure import modes
from assay.testing import FakeCase, FakeWorker


class Profiled(FakeWorker):
    """A worker whose profiler sees one step, and this in half of it; "": its trace is damaged."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def answers(self):
        order = self.requests[-1]
        if not isinstance(order, ProfileSteps):
            return super().answers()
        step = Event("ProfilerStep#0", "1", "1", 0.0, 1.0, "")
        seen = chrome.document([step, Event(self._name, "1", "2", 0.5, 0.5, "")])
        Path(order.folder).mkdir()
        (Path(order.folder) / "a.trace.json.gz").write_bytes(seen if self._name else b"{")
        return iter(())


def pieces(worker, folder, backend="torch", devices=2):
    case = Case(workload="w", backend=backend, options={"devices": devices})
    one = FakeCase(worker, Procedure(), case=case, folder=folder)
    one.start()
    one.open()
    opening = len(one.pieces_added)
    modes.measure_communication(one)
    return one.pieces_added[opening:]


def test_the_share_is_in_percent(tmp_path):
    (found,) = pieces(Profiled("gloo:all_reduce"), tmp_path)

    assert isinstance(found, Samples)
    assert (found.metric, found.unit) == ("communication_share", "%")
    assert found.values == pytest.approx((50.0,))


def test_one_device_is_not_asked(tmp_path):
    assert pieces(Profiled("gloo:all_reduce"), tmp_path, devices=1) == []


@pytest.mark.parametrize(
    ("backend", "name", "why"),
    [
        ("torch", "aten::mm", "names no collective operation"),
        ("torch", "", "the trace cannot be read"),
        ("python", "gloo:all_reduce", "python has no profiler"),
    ],
)
def test_why_it_is_unknown_is_a_fact(tmp_path, backend, name, why):
    (found,) = pieces(Profiled(name), tmp_path, backend)

    assert isinstance(found, LateFacts)
    assert why in found.facts["communication"]

"""Cases that take turns: each has a result, whatever becomes of the others."""

from __future__ import annotations

import pytest

from assay import launch, sitting
from assay.errors import EndingError
from assay.protocol import Check
from assay.records import Case, Environment, Procedure
from assay.testing import FakeWorker

QUICK = Procedure(budget=0.5, target=0.001)


class FakeChild(FakeWorker):
    """Stands for assay.child.Child: a fake worker that is entered and left."""

    def __init__(self, seconds, **other):
        super().__init__(seconds, **other)
        self.peaks = {"max_rss": 5.0}
        self.left = ""

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.left = "in order" if kind is None else "by force"


@pytest.fixture
def sit(monkeypatch, tmp_path):
    """Name → worker, or an ending of that name before any process."""

    def run(**children):
        def refuse(case):
            if children[case.key] is None:
                raise EndingError("skipped", "cannot run here")

        monkeypatch.setattr(launch, "_environment", lambda case, folder: Environment())
        monkeypatch.setattr(sitting, "refuse", refuse)
        monkeypatch.setattr(sitting, "Child", lambda case, folder, timeout: children[case.key])
        cases = [Case(workload="w", backend="b", key=key) for key in children]
        places = lambda: ("run/001", tmp_path)  # noqa: E731
        results = sitting.sit(cases, places, QUICK, lambda progress: None)
        return {result.case.key: result for result in results}

    return run


def test_everyone_is_sampled_until_its_budget_is_spent(sit):
    children = {"a": FakeChild([0.01, 0.012]), "b": FakeChild([0.02, 0.025])}
    found = sit(**children)

    for result in found.values():
        assert result.status == "ok"
        assert 0.5 <= sum(result.values("step_time")) < 1.0
    assert all(child.orders[-1] == Check() for child in children.values())
    assert {child.left for child in children.values()} == {"in order"}


def test_a_steady_case_needs_no_whole_budget(sit):
    found = sit(steady=FakeChild([0.0001]), loud=FakeChild([0.0001, 0.0003, 0.0002]))

    assert sum(found["steady"].values("step_time")) < sum(found["loud"].values("step_time"))


def test_a_crash_costs_one_case_only(sit):
    crashing = FakeChild([0.01, 0.012], dies_after=8)
    found = sit(good=FakeChild([0.01, 0.012]), bad=crashing)

    assert (found["good"].status, found["bad"].status) == ("ok", "crashed")
    assert "told to crash" in found["bad"].reason
    assert crashing.left == "by force"


def test_what_cannot_run_is_skipped_in_words(sit):
    found = sit(good=FakeChild([0.01]), bad=None)

    assert (found["bad"].status, found["bad"].reason) == ("skipped", "cannot run here")
    assert found["good"].status == "ok"


def test_an_interrupt_ends_all_that_are_not_through(sit, monkeypatch):
    child = FakeChild([0.01])

    def interrupted(worker, steps):
        raise KeyboardInterrupt("ended by SIGTERM")

    monkeypatch.setattr(sitting.together, "turn", interrupted)
    found = sit(a=child, b=FakeChild([0.01]), c=None)

    assert {found["a"].status, found["b"].status} == {"interrupted"}
    assert found["a"].reason == "ended by SIGTERM"
    assert found["c"].status == "skipped"
    assert child.left == "in order"


def test_peaks_and_facts_are_kept(sit):
    result = sit(a=FakeChild([0.01]))["a"]

    assert result.peaks == {"max_rss": 5.0}
    assert result.facts == {"device": "fake", "unwaited": 0.0}

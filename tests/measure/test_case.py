"""One case in one or several processes, whatever happens to them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from assay.core.errors import EndingError
from assay.core.executor import CasePlace
from assay.core.messages import CheckWait, Open
from assay.core.records import Case, Environment, Procedure
from assay.measure import case as measure_case
from assay.measure import result_builder
from assay.testing import FakeWorker

CASE = Case(workload="fake", backend="fake", key="fake@fake")


class Opener:
    """Stands for WorkerProcess: hands out a fake worker for each process that is started."""

    peaks: ClassVar = {"max_rss": 1.0}
    left_behind: ClassVar = []

    def __init__(self, workers):
        self.workers = iter(workers)
        self.places = []
        self.timeouts = []

    def __call__(self, case, folder, timeout):
        self.places.append(folder)
        self.timeouts.append(timeout)
        return self

    def __enter__(self):
        return next(self.workers)

    def __exit__(self, *_):
        return None


@pytest.fixture
def measure(monkeypatch, tmp_path):
    def run(workers, **procedure):
        opener = Opener(workers)
        monkeypatch.setattr(measure_case, "WorkerProcess", opener)
        monkeypatch.setattr(measure_case, "refuse", lambda *_: None)
        monkeypatch.setattr(result_builder, "_environment", lambda case, folder: Environment())
        result = measure_case.measure_case(
            CASE, Procedure(**procedure), CasePlace("run/001", tmp_path), lambda _: None
        )
        return result, opener

    return run


def noisy(seed, spread=0.01):
    return 0.01 * (1 + spread * np.random.default_rng(seed).standard_normal(3000))


def test_processes_are_numbered(measure):
    result, _ = measure([FakeWorker(noisy(at)) for at in range(3)], processes=3)
    assert result.status == "ok"
    assert {part.process for part in result.samples} == {0, 1, 2}


def test_each_process_has_a_folder_for_its_log(measure, tmp_path):
    _, opener = measure([FakeWorker(noisy(at)) for at in range(3)], processes=3)
    assert opener.places == [tmp_path, tmp_path / "process-1", tmp_path / "process-2"]


def test_budget_is_shared(measure):
    workers = [FakeWorker(noisy(at, spread=0.5)) for at in range(4)]
    result, _ = measure(workers, processes=4, budget=4.0, target=0.0001)
    for number in range(4):
        spent = sum(
            sum(part.values)
            for part in result.samples
            if part.process == number and part.phase == "steady"
        )
        assert 1.0 <= spent < 1.4


def test_timeout_is_for_the_whole_case(measure):
    _, opener = measure([FakeWorker(noisy(at)) for at in range(2)], processes=2, timeout=60.0)
    assert opener.timeouts[0] == 60.0
    assert opener.timeouts[1] < 60.0


def test_crash_of_a_later_process_keeps_what_the_earlier_gave(measure):
    workers = [FakeWorker(noisy(0)), FakeWorker(noisy(1), dies_after=3)]
    result, _ = measure(workers, processes=2)
    assert result.status == "crashed"
    assert {part.process for part in result.samples if part.phase == "steady"} == {0}


def test_processes_that_agree_need_fewer_samples(measure):
    loud = [FakeWorker(noisy(0, spread=0.2)) for _ in range(4)]
    result, _ = measure(loud, processes=4, budget=400.0, target=0.02)
    counts = [
        sum(len(p.values) for p in result.samples if p.process == number and p.phase == "steady")
        for number in range(4)
    ]
    assert counts[3] < counts[0]


def test_what_the_first_process_has_shown_is_not_asked_of_the_next(measure):
    asked = []

    class Asked(FakeWorker):
        def ask(self, order):
            asked.append(order)
            return super().ask(order)

    measure([Asked(noisy(n)) for n in range(2)], processes=2, samples=3)

    opened = [order for order in asked if isinstance(order, Open)]
    assert [(order.outputs, order.counts) for order in opened] == [(True, True), (False, False)]
    assert sum(isinstance(order, CheckWait) for order in asked) == 1


@pytest.mark.parametrize(
    ("spent", "phase"), [({"import": 0.5, "weights": 0.25}, "weights"), ({}, "build")]
)
def test_the_time_of_a_failed_opening_is_given_to_what_it_was_doing(measure, spent, phase):
    class Fails:
        def ask(self, order):
            raise EndingError("failed", "no", spent)

    result, _ = measure([Fails()])

    assert result.status == "failed"
    assert phase in result.phases and "end" not in result.phases
    assert spent.items() <= result.phases.items()

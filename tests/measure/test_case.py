"""One case in one or several processes, whatever happens to them; turns and pauses of a worker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import EndingError
from assay.core.executor import CaseDir
from assay.core.messages import CheckWait, Open, TakeSamples
from assay.core.progress import ignore
from assay.core.records import Case, Environment, Plan, Procedure
from assay.measure import case as measure_case
from assay.measure import plan, process, result_builder
from assay.measure.process import WorkerProcess
from assay.measure.recorder import run_cases
from assay.measure.sampling import take_turn
from assay.testing import FakeCase, FakeWorker
from tests.measure.test_endings import gone

CASE = Case(workload="fake", backend="fake", key="fake@fake")


class Opener:
    """Stands for WorkerProcess: hands out a fake worker for each process that is started."""

    def __init__(self, workers):
        self.workers = iter(workers)
        self.places = []
        self.timeouts = []

    def __call__(self, case, folder, timeout):
        self.places.append(folder)
        self.timeouts.append(timeout)
        return next(self.workers)


@pytest.fixture
def measure(monkeypatch, tmp_path):
    def run(workers, **procedure):
        opener = Opener(workers)
        monkeypatch.setattr(measure_case, "WorkerProcess", opener)
        monkeypatch.setattr(measure_case, "check_supported", lambda *_: None)
        monkeypatch.setattr(result_builder, "_environment", lambda case, folder: Environment())
        result = measure_case.measure_case(
            CASE, Procedure(**procedure), CaseDir("run/001", tmp_path), lambda _: None
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
        def send(self, order):
            asked.append(order)
            super().send(order)

    measure([Asked(noisy(n)) for n in range(2)], processes=2, samples=3)

    opened = [order for order in asked if isinstance(order, Open)]
    assert [(order.outputs, order.counts) for order in opened] == [(True, True), (False, False)]
    assert sum(isinstance(order, CheckWait) for order in asked) == 1


@pytest.mark.parametrize(
    ("spent", "phase"), [({"import": 0.5, "weights": 0.25}, "weights"), ({}, "build")]
)
def test_the_time_of_a_failed_opening_is_given_to_what_it_was_doing(measure, spent, phase):
    class Fails(FakeWorker):
        def answers(self):
            raise EndingError("failed", "no", spent)

    result, _ = measure([Fails()])

    assert result.status == "failed"
    assert phase in result.phases and "end" not in result.phases
    assert spent.items() <= result.phases.items()


def test_a_turn_begins_with_a_step_that_is_not_recorded():
    worker = FakeWorker([1.0, 0.01, 0.01])

    found = take_turn(worker, steps=2, seconds=0.0)

    assert worker.requests[0] == TakeSamples(steps=1, count=1, seconds=0.0)
    assert found.values == (0.01,)


def test_a_worker_stands_still_after_its_turn_even_if_it_crashed():
    worker = FakeWorker(dies_after=1)
    with pytest.raises(EndingError):
        take_turn(worker, steps=1)
    assert worker.paused


@pytest.fixture
def opened(tmp_path, endings):
    """A real worker that has opened its case."""
    case = plan.expand_cases([f"{endings}:fine@python"])[0]
    with WorkerProcess(case, tmp_path, timeout=20.0) as child:
        list(child.ask(Open(case=case)))
        yield child


def test_between_its_turns_a_real_worker_has_stopped(opened):
    take_turn(opened, steps=1, seconds=0.0)
    stat = Path(f"/proc/{opened._process.pid}/stat").read_text()
    assert stat.rpartition(")")[2].split()[0] == "T"


def test_time_spent_standing_still_is_not_the_workers_own(opened):
    opened.pause()
    opened._paused_at -= 100.0  # as if it had stood there so long
    before = opened._deadline

    opened.unpause()

    assert opened._deadline - before == pytest.approx(100.0, abs=1.0)
    assert list(opened.ask(TakeSamples(steps=1, count=1, seconds=0.0)))


STANDING = """
import sys, time
from pathlib import Path
from assay.core.messages import Open
from assay.measure import plan
from assay.measure.process import WorkerProcess

case = plan.expand_cases([sys.argv[1]])[0]
child = WorkerProcess(case, Path(sys.argv[2]), 60.0)
list(child.ask(Open(case=case)))
child.pause()
print(child._process.pid, flush=True)
time.sleep(60)
"""


def test_who_stands_still_does_not_outlive_a_killed_parent(tmp_path, endings):
    parent = subprocess.Popen(
        [sys.executable, "-c", STANDING, f"{endings}:fine@python", str(tmp_path)],
        stdout=subprocess.PIPE,
    )
    pid = int(parent.stdout.readline())

    parent.kill()
    parent.communicate()

    assert gone(pid)


@pytest.mark.parametrize("count", range(1, 7))
def test_an_ending_in_any_phase_is_the_status_and_what_follows_does_nothing(count):
    worker = FakeWorker(noisy(0), dies_after=count)
    one = FakeCase(worker, Procedure(samples=5))

    with pytest.raises(EndingError, match="asked to crash"):
        one.measure()

    assert one.status == "crashed"
    assert len(worker.requests) == count + 1


class Interrupts(FakeWorker):
    """Ctrl-C comes while the answer to this request is waited for."""

    def __init__(self, number):
        super().__init__(noisy(0))
        self.number = number
        self.exits = []

    def answers(self):
        if len(self.requests) == self.number:
            raise KeyboardInterrupt
        return super().answers()

    def __exit__(self, kind, *_):
        self.exits.append(kind)


@pytest.mark.parametrize("number", range(1, 7))
def test_an_interrupt_in_any_phase_is_a_result_and_ends_the_process_at_once(measure, number):
    worker = Interrupts(number)

    result, _ = measure([worker, FakeWorker()], processes=2, samples=5)

    assert (result.status, result.reason) == ("interrupted", "by Ctrl-C")
    assert worker.exits == [EndingError]


def test_an_error_of_this_process_is_a_result(measure):
    class Full(FakeWorker):
        def answers(self):
            raise OSError(28, "No space left on device")

    result, _ = measure([Full()])

    assert result.status == "failed"
    assert result.reason == "assay could not go on: No space left on device"


def test_while_a_worker_is_waited_for_few_files_are_on_the_stack(endings, home, monkeypatch):
    stacks, wait = set(), process.WorkerProcess._next

    def next_answer(worker):
        frame, files = sys._getframe(1), []
        while frame:
            files.append(frame.f_code.co_filename)
            frame = frame.f_back
        stacks.update(Path(file).stem for file in files if "/assay/measure/" in file)
        return wait(worker)

    monkeypatch.setattr(process.WorkerProcess, "_next", next_answer)
    cases = plan.expand_cases([f"{endings}:fine@python"])
    made = Plan(cases=cases, procedure=Procedure(samples=5, budget=0.1))
    (found,) = run_cases(made, home, ignore)

    assert found.result.status == "ok"
    assert stacks == {"recorder", "case", "sampling", "process"}


LOADED = """
import json, sys
import assay.measure.case
print(json.dumps([name for name in sys.modules if name.startswith("assay.measure.")]))
"""


def test_a_case_is_loaded_without_heats():
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, check=True)

    assert "assay.measure.heat" not in json.loads(loaded.stdout)

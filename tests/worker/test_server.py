"""A worker answers orders: with what was measured, or with why it cannot. Real child processes."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager

import msgspec
import pytest

from assay.core.errors import EndingError
from assay.core.messages import (
    VERSION,
    Calibrate,
    Calibrated,
    CheckWait,
    Close,
    Done,
    Evaluate,
    GetOutputs,
    LateFacts,
    Open,
    ProfileSteps,
    Reported,
    RunSelfTimed,
    TakeSamples,
    Train,
)
from assay.core.recipe import Training
from assay.core.records import Samples
from assay.core.sessions import Report
from assay.measure import plan
from assay.measure.process import WorkerProcess
from assay.worker import server

FILE = """
import os

def looks():
    \"\"\"Prints the CPUs it may use.\"\"\"
    return lambda: print("CPUs:", len(os.sched_getaffinity(0)))

def grows(size=1 << 30):
    return lambda: bytearray(size)
"""


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(FILE)
    return file


@pytest.fixture
def worker(tmp_path):
    """A text → the case, and a real worker for it that has not opened it yet."""

    @contextmanager
    def started(text):
        case = plan.expand_cases([text])[0]
        with WorkerProcess(case, tmp_path, timeout=60) as child:
            yield case, child

    return started


def only(child, order):
    (answer,) = child.ask(order)
    return answer


def test_an_opened_case_tells_what_it_runs_in(worker, endings):
    with worker(f"{endings}:fine@python") as (case, child):
        opened = only(child, Open(case=case))

    assert (opened.stepped, opened.outputs, opened.items) == (True, False, 1)
    assert opened.packages["msgspec"] == msgspec.__version__
    assert opened.python["executable"] == sys.executable


def test_samples_are_as_many_as_ordered_and_start_after_the_worker(worker, endings):
    with worker(f"{endings}:fine@python") as (case, child):
        only(child, Open(case=case))
        timed = only(child, TakeSamples(steps=3, count=4, seconds=60.0))
        calibrated = only(child, Calibrate())

    assert (len(timed.seconds), timed.steps) == (4, 3)
    assert 0 < timed.starts[0] < timed.starts[1]
    assert isinstance(calibrated, Calibrated) and calibrated.steps >= 1


def test_without_outputs_to_read_nothing_is_said_of_the_wait(worker, endings):
    with worker(f"{endings}:fine@python") as (case, child):
        only(child, Open(case=case))
        found = only(child, CheckWait())

    assert found == LateFacts(facts={})


@pytest.mark.parametrize(
    ("order", "status", "reason"),
    [
        (GetOutputs(), "failed", "this backend cannot show its outputs"),
        (ProfileSteps(folder="x", steps=1), "skipped", "this backend has no profiler"),
        (
            Train(training=Training(), weights="w", checkpoint="c"),
            "skipped",
            "this backend cannot train; those of Keras can",
        ),
        (
            Evaluate(split="test", first=0, file="f"),
            "skipped",
            "this backend cannot be given other inputs",
        ),
    ],
)
def test_an_order_that_the_backend_cannot_obey_ends_in_words(
    worker, endings, order, status, reason
):
    with pytest.raises(EndingError) as ended, worker(f"{endings}:fine@python") as (case, child):
        only(child, Open(case=case))
        list(child.ask(order))

    assert ended.value.status == status
    assert ended.value.reason.startswith(reason)


def test_a_parent_of_another_version_is_refused(worker, endings):
    with pytest.raises(EndingError) as ended, worker(f"{endings}:fine@python") as (case, child):
        list(child.ask(Open(case=case, version=99)))

    assert ended.value.reason == f"the worker speaks protocol {VERSION}, its parent 99"


def test_threads_are_so_many_cpus_of_the_whole_process(worker, own, tmp_path):
    with worker(f"{own}:looks@python:threads=1") as (case, child):
        only(child, Open(case=case))
        only(child, TakeSamples(steps=1, count=1, seconds=0.0))

    assert "CPUs: 1\n" in (tmp_path / "worker.log").read_text()


def test_memory_beyond_the_bound_is_an_ending(worker, own):
    with pytest.raises(EndingError) as ended, worker(f"{own}:grows@python") as (case, child):
        only(child, Open(case=case, memory=1 << 29))
        only(child, TakeSamples(steps=1, count=1, seconds=0.0))

    assert ended.value.status == "out-of-memory"


class Told:
    """A backend of a session that times itself, and the session."""

    accepts = frozenset({"python"})
    items = 1

    def __init__(self, *reports):
        self._reports, self.is_open = reports, False

    def missing(self):
        return ""

    @contextmanager
    def open(self, build, case):
        build()
        self.is_open = True
        yield self
        self.is_open = False

    def run(self):
        yield from self._reports

    def facts(self):
        return {}


@pytest.fixture
def obeyed(monkeypatch, endings):
    """A backend and orders → what a worker says to them, and whether it was open then."""

    def obey(backend, *orders):
        said = []
        opening = Open(case=plan.expand_cases([f"{endings}:fine@python"])[0])
        monkeypatch.setattr(server.registry, "backend", lambda name: backend)
        monkeypatch.setattr(
            server, "send", lambda _, answer: said.append((answer, backend.is_open))
        )
        with ExitStack() as stack:
            server._serve(iter([opening, *orders]), 0, stack)
        return said[1:]

    return obey


PART = Samples(metric="epoch_time", unit="s", phase="steady", values=(1.0,))


def test_what_a_session_times_itself_is_said_as_it_comes(obeyed):
    found = obeyed(Told(Report(PART), Report(PART)), RunSelfTimed())

    assert [answer for answer, _ in found] == [Reported(samples=PART)] * 2 + [Done()]


def test_a_report_that_is_not_well_is_the_end(obeyed):
    backend = Told(Report(PART), Report(PART, "crashed", "the binary left with 3"), Report(PART))

    with pytest.raises(EndingError, match="the binary left with 3") as ended:
        obeyed(backend, RunSelfTimed())

    assert ended.value.status == "crashed"


def test_the_session_is_closed_before_the_worker_says_so_and_hears_nothing_more(obeyed):
    assert obeyed(Told(), Close(), RunSelfTimed()) == [(Done(), False)]


def test_a_worker_that_was_closed_has_left_in_good_order(worker, endings):
    with worker(f"{endings}:fine@python") as (case, child):
        only(child, Open(case=case))
        assert list(child.ask(Close())) == []
        _, status = os.waitpid(child._process.pid, 0)
        child._process.returncode = os.waitstatus_to_exitcode(status)

    assert child._process.returncode == 0

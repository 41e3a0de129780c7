"""Workers that take turns: who works, who stands still, and whose time counts."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import EndingError
from assay.core.messages import Open, TakeSamples
from assay.measure import plan
from assay.measure.process import WorkerProcess
from assay.measure.sampling import take_turn
from assay.testing import FakeWorker
from tests.measure.test_endings import gone


def test_a_turn_begins_with_a_step_that_is_not_recorded():
    worker = FakeWorker([1.0, 0.01, 0.01])

    found = take_turn(worker, steps=2, seconds=0.0)

    assert worker.orders[0] == TakeSamples(steps=1, count=1, seconds=0.0)
    assert found.values == (0.01,)


def test_a_worker_stands_still_after_its_turn_even_if_it_crashed():
    worker = FakeWorker(dies_after=1)
    with pytest.raises(EndingError):
        take_turn(worker, steps=1)
    assert worker.still


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
    opened.stand_still()
    opened._still -= 100.0  # as if it had stood there so long
    before = opened._deadline

    opened.wake()

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
child.stand_still()
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

"""Workers that take turns: who works, who stands still, and whose time counts."""

from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import pytest

from assay import plan, together
from assay.child import Child
from assay.errors import EndingError
from assay.protocol import Open, Opened, Take
from assay.records import Case, Procedure
from assay.schedule import settled
from assay.testing import FakeWorker

CASE = Case(workload="fake", backend="fake", key="fake@fake")


def fakes(**seconds):
    found = {name: FakeWorker([value]) for name, value in seconds.items()}
    for worker in found.values():
        worker.stand_still()
    return found


def test_everyone_has_a_turn_in_each_round():
    workers = fakes(quick=0.001, slow=0.002)

    found = list(islice(together.rounds(workers, {"quick": 10, "slow": 10}), 5))

    assert [set(one) for one in found] == [{"quick", "slow"}] * 5
    assert found[0]["slow"].values[0] == pytest.approx(0.002)


def test_the_order_is_drawn_anew_each_round():
    workers = fakes(a=0.01, b=0.01)
    orders = {tuple(one) for one in islice(together.rounds(workers, {"a": 1, "b": 1}), 20)}
    assert orders == {("a", "b"), ("b", "a")}


def test_who_is_taken_out_has_no_further_turn():
    workers = fakes(a=0.01, b=0.01, c=0.01)
    turns = together.rounds(workers, dict.fromkeys("abc", 1))

    next(turns)
    del workers["b"]

    assert set(next(turns)) == {"a", "c"}


def test_a_turn_begins_with_a_step_that_is_not_recorded():
    worker = FakeWorker([1.0, 0.01, 0.01])

    found = together.turn(worker, steps=2, seconds=0.0)

    assert worker.orders[0] == Take(steps=1, count=1, seconds=0.0)
    assert found.values == (0.01,)


def test_a_worker_stands_still_after_its_turn_even_if_it_crashed():
    worker = FakeWorker(dies_after=1)
    with pytest.raises(EndingError):
        together.turn(worker, steps=1)
    assert worker.still


def test_all_are_opened_and_one_that_cannot_be_keeps_no_other_from_it():
    workers = {"a": FakeWorker(), "b": FakeWorker(dies_after=1), "c": FakeWorker()}
    list(workers["b"].ask(Take(steps=1, count=1, seconds=0.0)))

    found = dict(together.opened(workers, dict.fromkeys("abc", CASE)))

    assert [type(found[name]) for name in "abc"] == [Opened, EndingError, Opened]
    assert all(worker.still for worker in workers.values())


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def workload(tmp_path):
    """A callable that takes 10 ms."""
    (tmp_path / "nap.py").write_text(
        "import time\n"
        "from assay.contracts import Job\n"
        "def build(batch_size=1, seed=0):\n"
        "    return Job(model=lambda: time.sleep(0.01), items=1)\n"
    )
    return f"{tmp_path}/nap.py:build@python"


def started(stack, workload, folder, timeout=60.0):
    case = plan.resolve(plan.parse_case(workload))
    folder.mkdir()
    child = stack.enter_context(Child(case, folder, timeout))
    return case, child


def test_only_one_of_two_real_workers_runs(tmp_path, workload):
    with ExitStack() as stack:
        workers, steps, pids = {}, {}, {}
        for name in ("a", "b"):
            case, workers[name] = started(stack, workload, tmp_path / name)
            pids[name] = workers[name]._process.pid
        found = dict(together.opened(workers, dict.fromkeys("ab", case)))
        assert all(isinstance(opened, Opened) for opened in found.values())
        for name, child in workers.items():
            child.wake()
            steps[name] = _ended(settled(child, case, Procedure(budget=0.3), lambda _: None))
            child.stand_still()
        found = list(islice(together.rounds(workers, steps, seconds=0.05), 3))
        states = [state(pid) for pid in pids.values()]

    assert states == ["T", "T"]
    assert all(value >= 0.01 for one in found for part in one.values() for value in part.values)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids.values())


def test_time_spent_standing_still_is_not_the_workers_own(tmp_path, workload):
    with ExitStack() as stack:
        case, child = started(stack, workload, tmp_path / "a", timeout=5.0)
        list(child.ask(Open(case=case)))
        child.stand_still()
        child._still -= 100.0  # as if it had stood there so long
        before = child._deadline
        child.wake()
        assert child._deadline - before == pytest.approx(100.0, abs=1.0)
        assert list(child.ask(Take(steps=1, count=1, seconds=0.0)))


def _ended(generator):
    while True:
        try:
            next(generator)
        except StopIteration as end:
            return end.value

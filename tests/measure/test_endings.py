"""Whatever happens to a worker, there is a result. Each ending is a real child process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import assay
from assay import Procedure

QUICK = Procedure(budget=0.2, timeout=20)


def end_of(endings: str, name: str, procedure: Procedure = QUICK, **params: str) -> assay.Result:
    case = assay.Case(workload=f"{endings}:{name}", backend="python", params=dict(params))
    return next(iter(assay.run(case, procedure=procedure)))


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("fine", "ok", ""),
        ("raises", "failed", "ValueError: no good"),
        ("raises_later", "failed", "ValueError: no good any more"),
        ("fails_to_build", "failed", "RuntimeError: cannot be built"),
        ("exits", "crashed", "ended with exit status 3"),
        ("exits_in_good_order", "crashed", "ended with exit status 0"),
        ("segfaults", "crashed", "SIGSEGV"),
        ("is_killed", "crashed", "SIGKILL"),
        ("has_no_memory", "out-of-memory", "MemoryError"),
        ("closes_its_pipes", "crashed", "closed its pipe"),
        ("not_callable", "failed", "gave a int"),
        ("gets_signal", "crashed", "ended by signal 40"),
        ("forks", "ok", ""),
        ("writes_into_the_pipe", "crashed", "wrote invalid data into its pipe"),
        ("answers_wrongly", "crashed", "the worker ended its answer without TimedSteps"),
        ("has_a_fact_of_none", "failed", "the worker's answer cannot be read: Expected"),
        ("says", "failed", "so it says (it called this 'wonderful')"),
    ],
)
def test_every_ending_is_a_result(endings, name, status, reason):
    result = end_of(endings, name)

    assert result.status == status
    assert reason in result.reason
    assert assay.read_results()[-1].result == result


@pytest.mark.parametrize("name", ["hangs", "hangs_deaf"])
def test_a_hang_is_a_timeout(endings, name):
    result = end_of(endings, name, Procedure(budget=0.2, timeout=1))

    assert result.status == "timeout"
    assert result.reason == "not finished after 1 s"


def test_a_gigabyte_on_standard_output_fills_neither_disk_nor_memory(endings, home):
    result = end_of(endings, "shouts", Procedure(budget=0.2, timeout=120))

    log = home / "runs" / result.id / "worker.log"
    assert result.status == "ok"
    assert log.stat().st_size < 3 << 20
    assert b"bytes left out" in log.read_bytes()


def test_what_was_measured_before_the_end_is_kept(endings):
    result = end_of(endings, "raises_later")

    assert result.values("step_time", "first")


def test_a_segfault_leaves_its_stack_in_the_log(endings, home):
    result = end_of(endings, "segfaults")

    assert "string_at" in (home / "runs" / result.id / "worker.log").read_text()


def test_the_workers_children_end_with_it(endings, tmp_path):
    note = tmp_path / "child"

    end_of(endings, "leaves_a_child", Procedure(budget=0.2, timeout=2), note=str(note))

    assert gone(int(note.read_text()))


def test_the_kernels_memory_killer_is_recognised(endings, monkeypatch):
    counts = iter([7, 8])
    monkeypatch.setattr("assay.measure.process.out_of_memory_kills", lambda: next(counts))

    monkeypatch.setattr("assay.measure.process.memory_limit", lambda: 1 << 20)

    assert end_of(endings, "is_killed").status == "out-of-memory"


def test_who_is_killed_while_others_have_no_memory_is_not_said_to_lack_it(endings, monkeypatch):
    counts = iter([7, 8])
    monkeypatch.setattr("assay.measure.process.out_of_memory_kills", lambda: next(counts))
    monkeypatch.setattr("assay.measure.process.memory_limit", lambda: 1 << 50)

    found = end_of(endings, "is_killed")

    assert found.status == "crashed"
    assert "but the worker had little of it" in found.reason


def test_one_bad_case_costs_one_case(endings):
    names = [f"{endings}:{name}@python" for name in ("exits", "fine", "raises")]

    statuses = [result.status for result in assay.run(*names, procedure=QUICK)]

    assert statuses == ["crashed", "ok", "failed"]


@pytest.mark.parametrize("status", ["ok", "interrupted", "x" * 10_000, "\x1b[2J"])
def test_a_worker_cannot_end_a_case_by_a_status_of_its_own(endings, status):
    result = end_of(endings, "says", status=status)

    assert result.status == "failed"
    assert len(result.reason) < 200


def test_what_comes_after_an_ending_that_nobody_expected_is_measured_too(endings):
    names = ("gets_signal", "has_a_fact_of_none", "writes_into_the_pipe", "fine")

    found = list(assay.run(*(f"{endings}:{name}@python" for name in names), procedure=QUICK))

    assert [result.status for result in found] == ["crashed", "failed", "crashed", "ok"]
    assert list(assay.resume(found[0].run)) == []


def test_a_daemon_that_a_case_leaves_behind_is_ended_and_named(endings, tmp_path):
    note = tmp_path / "daemon"

    result = end_of(endings, "leaves_a_daemon", note=str(note))

    assert result.status == "ok"
    assert gone(int(note.read_text()))
    assert result.facts["left_behind"] == f"sleep ({note.read_text().strip()})"


def gone(pid: int) -> bool:
    """Dead, or a zombie nobody has buried yet; given a moment."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False

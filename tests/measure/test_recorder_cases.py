"""The cases of a plan, one after the other in fresh workers; each result is kept, then yielded."""

from __future__ import annotations

import pytest

import assay
from assay.core.errors import UsageError
from assay.core.records import Evaluation, Plan, Procedure
from assay.measure import batch_size, plan
from assay.measure.recorder import resume_cases, run_cases
from tests.datasets.making import SAMPLE

QUICK = Procedure(budget=0.05, samples=2, timeout=20)


def quiet(*_):
    pass


def planned(endings, *names, **fields):
    cases = plan.expand_cases([f"{endings}:{name}@python" for name in names])
    return Plan(**{"cases": cases, "procedure": QUICK, **fields})


@pytest.fixture
def interrupting():
    """A progress that interrupts the case it first sees of this parameter."""

    def of(size):
        def progress(seen):
            if seen.case.params["size"] == size:
                raise KeyboardInterrupt("by Ctrl-C")

        return progress

    return of


def test_cases_come_in_the_plans_order_and_each_is_kept_before_the_next_begins(home, endings):
    found = run_cases(planned(endings, "fine", "exits", "raises"), home, quiet)

    kept = [(one.result.status, len(assay.read_results(store=home))) for one in found]

    assert kept == [("ok", 1), ("crashed", 2), ("failed", 3)]


def test_a_result_lies_in_its_folder_with_its_log(home, endings):
    (found,) = run_cases(planned(endings, "fine"), home, quiet)

    files = {file.name for file in (home / "runs" / found.result.id).iterdir()}
    assert {"result.json", "worker.log"} <= files
    assert found.summary.quantities["step_time"].n == 2


def test_what_can_be_refused_is_refused_before_there_is_a_run(home, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    made = Plan(cases=plan.expand_cases(["alexnet@torch"]), evaluation=Evaluation(first=76))

    with pytest.raises(UsageError, match="first 76 images"):
        run_cases(made, home, quiet)

    assert not home.exists()


def test_an_interrupt_is_kept_and_ends_the_run(home, endings, interrupting):
    names = [f"fine:size={size}" for size in (10, 20, 30)]

    with pytest.raises(KeyboardInterrupt, match="by Ctrl-C"):
        list(run_cases(planned(endings, *names), home, interrupting(20)))

    found = [
        (r.result.case.params["size"], r.result.status) for r in assay.read_results(store=home)
    ]
    assert found == [(10, "ok"), (20, "interrupted")]


def test_what_is_resumed_counts_on_and_keeps_label_and_tags(home, endings, interrupting):
    made = planned(endings, "fine:size=10", "fine:size=20", label="nightly", tags={"a": "b"})
    with pytest.raises(KeyboardInterrupt):
        list(run_cases(made, home, interrupting(20)))

    (found,) = resume_cases("last", "run", home, quiet)

    assert found.result.id.endswith("/003")
    assert (found.result.label, found.result.tags) == ("nightly", {"a": "b"})


def test_another_verbs_run_is_refused_at_once(home, endings):
    list(run_cases(planned(endings, "fine", verb="profile"), home, quiet))

    with pytest.raises(UsageError, match="was made by assay profile"):
        resume_cases("last", "run", home, quiet)


def test_a_result_says_how_its_size_was_found_and_what_was_requested(home, tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text("def work(batch_size=4):\n    return lambda: None\n")
    monkeypatch.setattr(batch_size, "_ending", lambda trial, *_: fits(6, trial.case))
    cases = plan.expand_cases([f"{tmp_path}/own.py:work:batch_size=max@python"])

    made = Plan(cases=cases, procedure=QUICK, evaluation=Evaluation())
    (found,) = run_cases(made, home, quiet)

    result = found.result
    assert result.case.params["batch_size"] == 6
    assert result.facts["batch_size_search"].startswith("4 ok, 8 out-of-memory, 6 ok")
    assert result.facts["split"] == "test"


def fits(limit, case):
    return "ok" if case.params["batch_size"] <= limit else "out-of-memory"

"""A case on another machine: its ending, whatever it is, and what that machine knows of itself."""

from __future__ import annotations

import pickle
from contextlib import nullcontext

from assay.core.executor import CaseDir, NodeLost, RemoteTask
from assay.core.progress import ignore
from assay.core.records import Case, Plan, Procedure
from assay.measure import plan, remote
from assay.measure.recorder import run_cases

QUICK = Procedure(samples=2, steps_per_sample=1)


def place(folder, number=1):
    made = CaseDir(f"run/{number:03d}", folder / "runs" / "run" / f"{number:03d}")
    made.folder.mkdir(parents=True)
    return made


class InPlace:
    """Machines elsewhere that are this one; what is sent there and back could be sent."""

    def __init__(self, lost: int = 0) -> None:
        self._lost = lost

    def submit(self, units):
        for number, unit in enumerate(units, 1):
            function, args = pickle.loads(pickle.dumps((unit.function, unit.args)))
            found = NodeLost("lost 3 times") if number == self._lost else None
            yield (
                unit,
                found or pickle.loads(pickle.dumps(function(unit.case_dirs, unit.progress, *args))),
            )


def test_results_from_elsewhere_are_kept_as_ours_and_a_lost_one_has_crashed(endings, home):
    sizes = {"size": ["1", "2"]}
    cases = plan.expand_cases([f"{endings}:fine@python"], (), sizes, {})

    found = list(
        run_cases(Plan(cases=cases, procedure=QUICK), home, ignore, nullcontext(InPlace(lost=2)))
    )

    good, lost = (reading.result for reading in found)
    assert (good.status, lost.status, lost.reason) == ("ok", "crashed", "lost 3 times")
    assert good.id.endswith("/001")
    assert (home / "runs" / good.id / "worker.log").exists()


def test_an_interrupt_is_the_ending_of_a_case_that_was_begun(endings, home):
    class Interrupted:
        def submit(self, units):
            next(units)
            raise KeyboardInterrupt("SIGTERM")
            yield

    cases = plan.expand_cases([f"{endings}:fine@python"], (), {}, {})
    seen = []
    try:
        whole = Plan(cases=cases, procedure=QUICK)
        for one in run_cases(whole, home, ignore, nullcontext(Interrupted())):
            seen.append(one.result.status)
    except KeyboardInterrupt:
        seen.append("raised")

    assert seen == ["interrupted", "raised"]


def test_what_is_not_on_the_node_is_said_of_the_case(tmp_path):
    case = Case(workload="/nowhere/file.py:fine", backend="python", key="k")
    made = remote.measure_there([place(tmp_path)], ignore, Plan(cases=(case,)), case)

    assert made.status == "skipped"
    assert "/nowhere/file.py" in made.reason


def test_a_unit_says_where_its_files_go(tmp_path):
    made = place(tmp_path)
    case = Case(workload="w", backend="python", key="w@python")
    unit = RemoteTask(print, (), case, (made,), ignore)

    found = remote.failed_result(unit, Plan(cases=(case,)), "crashed", "gone")

    assert (found.id, found.status, found.reason) == ("run/001", "crashed", "gone")

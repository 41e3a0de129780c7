"""A record checks itself where it is made."""

from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.core.records import Case, Plan, Procedure, Result, Samples


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": 0},
        {"target": -1},
        {"timeout": 0},
        {"samples": -1},
        {"steps_per_sample": -5},
        {"latency": True, "steps_per_sample": 100},
    ],
)
def test_a_procedure_that_cannot_be_followed_is_refused(wrong):
    with pytest.raises(UsageError) as caught:
        Procedure(**wrong)
    assert caught.value.hint


def test_a_procedure_takes_durations_as_they_are_typed():
    found = Procedure(budget="2s", target="5%", timeout="10m")

    assert found == Procedure(budget=2.0, target=0.05, timeout=600.0)


@pytest.mark.parametrize(
    "names", [{"workload": "", "backend": "b"}, {"workload": "w", "backend": ""}]
)
def test_a_case_has_a_workload_and_a_backend(names):
    with pytest.raises(UsageError, match="A case has no"):
        Case(**names)


def test_a_plan_has_a_case():
    with pytest.raises(UsageError, match="no case"):
        Plan(cases=())


def test_a_record_cannot_be_changed():
    with pytest.raises(AttributeError):
        Procedure().budget = 3


def test_values_join_the_processes_of_one_phase():
    parts = (
        Samples(metric="step_time", unit="s", phase="warmup", values=(9.0,)),
        Samples(metric="step_time", unit="s", phase="steady", values=(1.0, 2.0)),
        Samples(metric="step_time", unit="s", phase="steady", values=(3.0,), process=1),
    )
    case = Case(workload="w", backend="b")
    result = Result(id="r/001", case=case, procedure=Procedure(), status="ok", samples=parts)

    assert result.values("step_time") == (1.0, 2.0, 3.0)
    assert result.run == "r"

"""What makes two results points of one series."""

from __future__ import annotations

import msgspec
import pytest

from assay.core.records import Case, Environment, Procedure, Result
from assay.core.series import machine_of, series_of

HERE = Environment(machine={"cpu": "EPYC", "cpus": 2, "gpu0": "H200", "gpu0_memory": 1})
RESULT = Result(
    id="r/001",
    case=Case(workload="w", backend="b", params={"a": 1, "b": 2}, options={"o": "x"}, key="w@b"),
    procedure=Procedure(),
    status="ok",
    environment=HERE,
    workload_version="1",
)


def changed(**fields: object) -> Result:
    return msgspec.structs.replace(RESULT, **fields)


def test_the_same_case_on_the_same_machine_is_one_series_whatever_its_order_of_names():
    case = msgspec.structs.replace(RESULT.case, params={"b": 2, "a": 1}, key="another text")

    assert series_of(changed(case=case, id="s/007", label="x")).id == series_of(RESULT).id


@pytest.mark.parametrize(
    "fields",
    [
        {"workload_version": "2"},
        {"environment": Environment(machine={"cpu": "Xeon", "cpus": 2})},
        {"tags": {"order": "in turns"}},
        {"case": msgspec.structs.replace(RESULT.case, params={"a": 1, "b": 3})},
        {"case": msgspec.structs.replace(RESULT.case, options={"o": "y"})},
    ],
)
def test_what_makes_results_incomparable_makes_another_series(fields):
    assert series_of(changed(**fields)).id != series_of(RESULT).id


def test_a_machine_is_its_hardware_unless_it_has_a_name():
    assert machine_of(HERE) == "EPYC, 2 cpus, H200"
    named = msgspec.structs.replace(HERE, variables={"ASSAY_MACHINE": "nightly box"})
    assert machine_of(named) == "nightly box"


def test_old_series_continue_under_the_same_inputs_only():
    def series(**options: str) -> str:
        return series_of(
            changed(
                case=msgspec.structs.replace(
                    RESULT.case, options={**RESULT.case.options, **options}
                )
            )
        ).id

    assert series(inputs="same") == series()
    assert len({series(inputs=chosen) for chosen in ("same", "fresh", "cold")}) == 3

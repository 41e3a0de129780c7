"""Numbers of a case that are not finite: text, so that storing changes nothing."""

from __future__ import annotations

import math
import pickle

import msgspec
import pytest

from assay.core import codec, messages
from assay.core.records import NOT_FINITE, Case, Plan, arguments
from assay.core.series import SeriesKey, series_of
from assay.stores import folders
from tests.kept_runs import CASE, OTHER, made_result


@pytest.mark.parametrize("place", ["params", "options"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_results_of_one_number_are_one_series_before_and_after_they_are_stored(place, value):
    cases = [
        Case(workload="a", backend="b", **{place: {"n": number}})
        for number in (value, float(str(value)), str(value))
    ]
    plan = Plan(cases=tuple(cases))

    stored = codec.decode(codec.encode(plan), Plan, "plan.json")

    assert stored == plan
    assert cases[0] == cases[1] == cases[2]
    keys = {
        series_of(made_result(folders.CaseDir("a/001", None), case, 1.0, "")).id
        for case in (*cases, *stored.cases)
    }
    assert len(keys) == 1


def test_series_of_finite_results_keep_their_ids():
    """As commit f7cfc39 computed them."""
    key = SeriesKey(
        workload="mnist-mlp", params={"units": 64, "lr": 0.1}, options={"threads": 2}, backend="jax"
    )
    case = made_result(folders.CaseDir("a/001", None), CASE, 1.0, "")

    assert key.id == "7746d5fd6d53f876"
    assert series_of(case).id == "125133f528ddce80"
    assert (
        series_of(made_result(folders.CaseDir("a/001", None), OTHER, 1.0, "")).id
        == "fa1c29ba2fab2adc"
    )


@pytest.mark.parametrize("text", NOT_FINITE)
def test_a_workload_gets_the_number_where_its_default_is_one(text):
    case = Case(workload="a", backend="b", params={"lr": float(text), "name": text, "n": text})

    values = arguments(case.params, {"lr": 0.1, "name": "", "n": 3})

    assert case.params == {"lr": text, "name": text, "n": text}
    assert repr(values) == repr({"lr": float(text), "name": text, "n": text})


def test_other_values_reach_a_workload_as_they_are():
    params = {"lr": 0.5, "n": 2**62, "on": True, "name": "NaN", "more": 1e308}

    assert arguments(Case(workload="a", backend="b", params=params).params, {"lr": 0.1}) == params


def test_a_case_is_the_same_for_another_process():
    case = Case(workload="a", backend="b", params={"lr": math.nan}, options={"o": -math.inf})
    packed = messages.pack(messages.Open(case=case))

    assert msgspec.msgpack.decode(packed[4:], type=messages.Open).case == case
    assert pickle.loads(pickle.dumps(case)) == case

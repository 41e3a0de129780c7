"""Whether two contenders do the same work."""

import pytest

from assay.analysis import agreement
from assay.protocol import Given
from assay.records import Case


def given(*values):
    return Given(shape=(1, len(values)), values=values)


def case(**options):
    return Case(workload="w", backend="b", options=options, key="w@b")


def test_outputs_that_agree_say_nothing():
    assert agreement.outputs_differ(given(1.0, -4.0), given(1.001, -4.0), 1e-3) == ""


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (given(1.0, 4.0), given(1.4, 4.0), "differ by 0.1 of the largest"),
        (given(1.0), given(1.0, 2.0), "shapes"),
        (given(1.0), given(float("nan")), "not finite"),
    ],
)
def test_outputs_that_differ_are_told_in_words(one, other, said):
    assert said in agreement.outputs_differ(one, other, 1e-3)


def test_the_coarsest_precision_decides_what_is_allowed():
    fine, coarse = case(precision="float32"), case(precision="bfloat16")
    assert agreement.tolerance(fine, coarse) > agreement.tolerance(fine, fine)


def test_of_three_the_one_apart_is_the_odd_one_out():
    outputs = {"a": given(1.0, 9.0), "b": given(1.0, 2.0), "c": given(1.0, 2.0)}
    found = agreement.odd_ones_out(outputs, dict.fromkeys("abc", case()))
    assert list(found) == ["a"]


def test_of_two_the_second_is_wrong():
    found = agreement.odd_ones_out({"a": given(1.0), "b": given(2.0)}, dict.fromkeys("ab", case()))
    assert list(found) == ["b"]


def test_other_parameters_are_not_compared():
    cases = {
        name: Case(workload="w", backend="b", params={"seed": seed}, key=name)
        for seed, name in enumerate("ab")
    }
    assert agreement.odd_ones_out({"a": given(1.0), "b": given(2.0)}, cases) == {}

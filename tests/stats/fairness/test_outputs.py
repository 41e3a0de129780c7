"""Whether two contenders do the same work."""

import pytest

from assay.core.messages import OutputValues
from assay.core.records import Case
from assay.stats.fairness import outputs as outputs_of


def given(*values):
    return OutputValues(shape=(1, len(values)), values=values)


def case(**options):
    return Case(workload="w", backend="b", options=options, key="w@b")


def test_outputs_that_agree_say_nothing():
    assert outputs_of.outputs_differ(given(1.0, -4.0), given(1.001, -4.0), 1e-3) == ""


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (given(1.0, 4.0), given(1.4, 4.0), "differ by 0.1 of the largest"),
        (given(1.0), given(1.0, 2.0), "shapes"),
        (given(1.0), given(float("nan")), "not finite"),
    ],
)
def test_outputs_that_differ_are_told_in_words(one, other, said):
    assert said in outputs_of.outputs_differ(one, other, 1e-3)


def test_the_coarsest_precision_decides_what_is_allowed():
    fine, coarse = case(precision="float32"), case(precision="bfloat16")
    assert outputs_of.tolerance(fine, coarse) > outputs_of.tolerance(fine, fine)


def test_of_three_the_one_apart_is_the_odd_one_out():
    outputs = {"a": given(1.0, 9.0), "b": given(1.0, 2.0), "c": given(1.0, 2.0)}
    found = outputs_of.wrong_outputs(outputs, dict.fromkeys("abc", case()))
    assert list(found) == ["a"]


def test_of_two_the_second_is_wrong():
    found = outputs_of.wrong_outputs(
        {"a": given(1.0), "b": given(2.0)}, dict.fromkeys("ab", case())
    )
    assert list(found) == ["b"]


def test_other_parameters_are_not_compared():
    cases = {
        name: Case(workload="w", backend="b", params={"seed": seed}, key=name)
        for seed, name in enumerate("ab")
    }
    assert outputs_of.wrong_outputs({"a": given(1.0), "b": given(2.0)}, cases) == {}


def test_a_coarse_precision_does_not_make_a_finer_one_wrong():
    """Seen: of two float32 and two bfloat16 the median lay between, and both float32 were out."""
    outputs = {"a": given(1.0, 2.0), "b": given(1.0, 2.00001)}
    outputs |= {"c": given(1.0, 2.05), "d": given(1.0, 2.06)}
    cases = {name: case(precision="float32") for name in "ab"}
    cases |= {name: case(precision="bfloat16") for name in "cd"}

    assert outputs_of.wrong_outputs(outputs, cases) == {}


def test_a_coarse_one_is_wrong_beyond_what_its_precision_allows():
    outputs = {"fine": given(1.0, 2.0), "coarse": given(1.0, 1.5)}
    cases = {"fine": case(), "coarse": case(precision="bfloat16")}

    assert list(outputs_of.wrong_outputs(outputs, cases)) == ["coarse"]

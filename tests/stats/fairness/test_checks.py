"""Contenders that do not do the same work are told apart from those that were asked to differ."""

from __future__ import annotations

import math

import msgspec
import pytest

from assay.core.records import Case, Procedure, Result
from assay.stats.fairness.checks import differences, sentences

FACTS = {
    "parameters": 1000,
    "multiply_adds": 5000,
    "counted_multiply_adds": 5100,
    "input_shape": "4x8x8x3",
    "output_shape": "4x10",
    "product_dtypes": "float32",
    "parameter_dtype": "float32",
    "output_dtype": "float32",
    "tf32": False,
    "device": "cpu",
    "threads": 2,
    "allocator": "",
    "mode": "train",
    "outputs": "0.5 -1 0.25",
    "outputs_norm": 3.0,
    "outputs_largest": 1.0,
    "weights_norm": 7.0,
    "unwaited": 0.0,
}
OPTIONS = {
    "precision": "float32",
    "data_format": "channels_last",
    "compiler": "off",
    "threads": "all",
}


def result(backend: str, options=None, params=None, **facts) -> Result:
    case = Case(
        workload="net",
        backend=backend,
        params=params or {"batch_size": 4},
        options=OPTIONS | (options or {}),
        key=f"net@{backend}",
    )
    return Result(
        id="r/001", case=case, procedure=Procedure(), status="ok", facts={**FACTS, **facts}
    )


def unfair(*results: Result) -> list[str]:
    return [one.what for one in differences(results) if one.unfair]


def test_contenders_that_are_alike_are_not_accused():
    assert differences([result("a"), result("b"), result("c")]) == []


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("parameters", 1001),
        ("multiply_adds", 5001),
        ("input_shape", "4x9x9x3"),
        ("output_shape", "4x11"),
        ("parameter_dtype", "float16"),
        ("output_dtype", "float16"),
        ("product_dtypes", "float16 float32"),
        ("tf32", True),
        ("device", "gpu some"),
        ("allocator", "MALLOC_ARENA_MAX=1"),
        ("mode", "infer"),
        ("unwaited", 0.9),
    ],
)
def test_what_nobody_asked_for_is_unfair(fact, value):
    assert unfair(result("a"), result("b"), result("c", **{fact: value})) == [fact]


def test_the_frameworks_own_counts_decide_where_the_model_has_none():
    first, second = result("a"), result("b", counted_multiply_adds=7000)
    for one in (first, second):
        del one.facts["multiply_adds"]

    assert unfair(first, second) == ["counted_multiply_adds"]


def test_counts_that_are_not_finite_are_not_compared():
    assert unfair(result("a"), result("b", counted_multiply_adds="inf")) == []


def test_the_sentence_names_both_sides():
    (one,) = differences([result("a"), result("b"), result("c", parameters=2000)])

    assert one.workload == "net"
    assert one.text == "the count of trained parameters differs: 1,000 in a, b; 2,000 in c"


@pytest.mark.parametrize(
    ("facts", "options"),
    [
        ({"tf32": True}, {"precision": "tf32"}),
        (
            {"product_dtypes": "bfloat16", "output_dtype": "bfloat16", "outputs": "0.51 -1 0.25"},
            {"precision": "bfloat16"},
        ),
        ({"input_shape": "4x3x8x8"}, {"data_format": "channels_first"}),
        ({}, {"compiler": "on"}),
        ({"mode": "infer"}, {"mode": "infer"}),
    ],
)
def test_what_a_case_asked_for_is_told_calmly(facts, options):
    found = differences([result("a"), result("b", options, **facts)])

    assert [one for one in found if one.unfair] == []
    named = {name for name in options if name != "mode"}
    assert all(any(name in one.text for one in found) for name in named)


def test_a_precision_that_was_not_asked_for_is_unfair_even_alone():
    assert unfair(result("a", product_dtypes="float16")) == ["product_dtypes"]


def test_a_missing_wait_is_unfair_even_alone():
    assert unfair(result("a", unwaited=0.6)) == ["unwaited"]


def test_how_many_threads_a_framework_takes_is_its_own_choice():
    (one,) = differences([result("a"), result("b", threads=4)])

    assert not one.unfair
    assert one.text == "the number of threads differs at threads all: 2 in a; 4 in b"


def test_outputs_may_differ_by_a_ten_thousandth_of_the_largest():
    assert unfair(result("a"), result("b", outputs="0.50009 -1 0.25")) == []
    assert unfair(result("a"), result("b", outputs="0.50011 -1 0.25")) == ["outputs"]


def test_the_one_that_most_others_contradict_is_accused():
    odd = result("a", outputs="0.7 -1 0.25")
    found = differences([odd, result("b"), result("c")])

    assert [one.text.split(" by ")[0] for one in found] == [
        "outputs of a differ from those of b",
    ]


def test_outputs_that_agree_in_some_values_but_not_in_their_norm_disagree():
    assert unfair(result("a"), result("b", outputs_norm=3.01)) == ["outputs"]


def test_outputs_that_are_not_finite_are_unfair():
    broken = result("b", outputs="nan nan nan", outputs_norm="nan", outputs_largest="nan")

    assert unfair(result("a"), broken) == ["outputs"]


def wrong(*results: Result) -> list[dict[str, float]]:
    """Of each difference of outputs, the results that are wrong, by backend."""
    named = [msgspec.structs.replace(each, id=each.case.backend) for each in results]
    return [dict(each.wrong) for each in differences(named) if each.what == "outputs"]


def test_what_differs_from_the_majority_is_wrong_by_its_difference():
    odd = result("a", outputs="0.7 -1 0.25")

    assert wrong(odd, result("b"), result("c")) == [{"a": pytest.approx(0.2)}]


def test_of_two_that_differ_either_may_be_wrong():
    odd = result("b", outputs="0.7 -1 0.25")

    assert wrong(result("a"), odd) == [dict.fromkeys("ba", pytest.approx(0.2))]


def test_what_is_not_finite_is_wrong_beside_what_is():
    broken = [
        result(name, outputs="nan nan nan", outputs_norm="nan", outputs_largest="nan")
        for name in "bc"
    ]

    assert wrong(result("a"), broken[0]) == [{"b": math.inf}]
    assert wrong(*broken) == [{}, {}]


def test_other_weights_make_outputs_incomparable_and_are_told_calmly():
    (one,) = differences([result("a"), result("b", outputs="9 9 9", weights_norm=8.0)])

    assert (one.what, one.unfair) == ("weights", False)


def test_coarse_precisions_have_a_wider_tolerance_but_not_without_end():
    coarse = {"options": {"precision": "float16"}, "product_dtypes": "float16"}
    coarse["output_dtype"] = "float16"

    assert unfair(result("a"), result("b", **coarse, outputs="0.505 -1 0.25")) == []
    assert unfair(result("a"), result("b", **coarse, outputs="0.52 -1 0.25")) == ["outputs"]


def test_other_parameters_are_another_workload():
    wide = result("b", params={"batch_size": 8}, parameters=2000)

    assert differences([result("a"), wide]) == []


def test_frameworks_may_mix_precisions_in_their_own_way():
    mixed = {"precision": "bfloat16"}
    found = differences(
        [
            result("a", mixed, product_dtypes="bfloat16"),
            result("b", mixed, product_dtypes="bfloat16 float32"),
        ]
    )

    assert [(one.what, one.unfair) for one in found] == [("product_dtypes", False)]


def test_a_case_that_never_opened_is_not_compared():
    refused = Result(
        id="r/002", case=result("b").case, procedure=Procedure(), status="skipped", facts={}
    )

    assert differences([result("a"), refused]) == []


def test_a_version_that_is_not_known_is_no_other_version():
    one = msgspec.structs.replace(result("a"), workload_version="1")
    other = msgspec.structs.replace(result("b"), workload_version="2")

    assert unfair(one, result("b")) == []
    assert unfair(one, other) == ["workload_version"]


def test_beside_a_verdict_stands_all_but_what_its_contenders_are_named_by():
    wide, plain = result("a", parameters=1001), result("b", {"compiler": "on"}, threads=1)
    words = sentences([wide, plain])

    assert len(words) == 2
    assert words[0].startswith("UNFAIR: the count of trained parameters differs")
    assert words[1].startswith("the number of threads differs")

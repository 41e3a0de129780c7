"""What the worker's checks of work become."""

import pytest

from assay.core.records import Case, Procedure, Result
from assay.stats.doubts.implausible import IMPLAUSIBLE_DOUBTS


def doubts(precision="float32", **facts):
    result = Result(
        id="r/001",
        case=Case(workload="w", backend="b", options={"precision": precision}),
        procedure=Procedure(),
        status="ok",
        facts=facts,
    )
    return [found for doubt in IMPLAUSIBLE_DOUBTS if (found := doubt(result))]


@pytest.mark.parametrize(
    "facts, code, text",
    [
        ({"outputs_repeat": True}, "outputs-repeat", "cached or constant"),
        ({"outputs_late": True}, "outputs-late", "of the step before"),
        ({"inputs_changed": True}, "inputs-changed", "in place"),
        ({"empty_step": True}, "empty-step", "an empty call"),
        ({"same_object": "ndarray"}, "same-object", "one ndarray again"),
        ({"fresh_step_ratio": 60.66}, "repeats-skipped", "60.7 times as long"),
        ({"first_output_difference": 0.123}, "first-differs", "by 12.3%"),
        ({"left_running": 0.2}, "work-left", "200 ms or longer"),
        ({"settings_changed": "tf32 False → True"}, "settings-changed", "tf32 False → True"),
        ({"product_dtypes": "bfloat16 float32"}, "lower-precision", "in bfloat16"),
        ({"clock_share": 0.01}, "clock", "1% of the time that passed"),
    ],
)
def test_each_sign_has_a_sentence_and_a_remedy(facts, code, text):
    (doubt,) = doubts(**facts)

    assert doubt.code == code
    assert text in doubt.text
    assert doubt.remedy


@pytest.mark.parametrize("precision", ["bfloat16", "float16", "pure-bfloat16"])
def test_a_precision_that_was_asked_for_is_no_sign(precision):
    assert doubts(precision, product_dtypes="bfloat16 float16") == []

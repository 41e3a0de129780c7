"""Every backend test of the installed `onnx` package is right, refused or skipped for a reason."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.native import onnx_suite
from tests.native.many import build_many, by_library
from tests.native.onnx_suite import RECORD, SKIPPED, compare, counts, right_names, run_suite

SAMPLE = 40


@pytest.fixture(scope="module")
def outcomes():
    return run_suite()


@pytest.mark.real("onnx")
def test_no_test_of_onnx_is_wrong_or_raises(outcomes):
    failures = {
        name: f"{each.status}: {each.reason}"
        for name, each in outcomes.items()
        if each.status in ("wrong", "raised")
    }

    print(counts(outcomes))
    assert failures == {}


@pytest.mark.real("onnx")
def test_as_many_tests_of_onnx_are_right_as_are_recorded(outcomes):
    """`python -m tests.native.onnx_suite --record` records more of them."""
    record, right = json.loads(RECORD.read_text()), right_names(outcomes)

    print(f"{len(right)} tests are right, {record['right']} are recorded")
    lost = [name for name in record["names"] if name in outcomes and name not in right]
    assert lost == []
    assert len(right) >= record["right"]


@pytest.mark.real("onnx")
def test_each_refusal_and_each_skip_has_a_reason(outcomes):
    reasons = {name: each.reason for name, each in outcomes.items() if each.status != "right"}

    assert all(reasons.values())
    assert {name for name, each in outcomes.items() if each.status == "skipped"} == set(SKIPPED)


@pytest.mark.real("onnx", "compiler")
@pytest.mark.parametrize(
    "kernels, count",
    [("portable", SAMPLE), pytest.param("auto", None, marks=pytest.mark.long)],
    ids=["sample", "all"],
)
def test_what_is_right_is_right_when_compiled(kernels, count, outcomes, native_cache, tmp_path):
    """All of them in one program, which is compiled once."""
    from assay.native.toolchain import toolchain

    names = right_names(outcomes)
    names = names[:: len(names) // (count or len(names))][:count]
    models = [outcomes[name].imported for name in names]

    built = build_many([each.graph for each in models], toolchain(kernels), native_cache, tmp_path)

    for test in onnx_suite.suite_tests():
        if test.name in names:
            number = names.index(test.name)
            for inputs, expected in outcomes[test.name].data:
                arrays = models[number].batches([np.asarray(array) for array in inputs])
                floats = [np.ascontiguousarray(array, np.float32) for array in arrays]
                outputs = by_library(*built[number], floats, kernels)
                compare(test, models[number].in_file_shape(outputs), expected)

"""ONNX files on inputs where a naive program is wrong: exact as ONNX Runtime, or refused."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import AssayError, UsageError
from assay.native import reference
from assay.native.onnx.read import import_onnx, onnx_reference, read_onnx
from tests.native.test_onnx_import import one, written

FAR = np.array([[0, 10, 50, 100, 110, 150, -20, 3]], np.float32)


def outputs_of(path, *arrays):
    """Of the importer, and of ONNX Runtime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    with np.errstate(all="ignore"):
        outputs = reference.outputs(read_onnx(path), *arrays)
    return outputs[0], session.run(None, dict(zip(names, arrays, strict=True)))[0]


@pytest.mark.real("onnx", "onnxruntime")
@pytest.mark.parametrize("opset", [11, 17])
def test_log_softmax_of_numbers_far_apart(opset, tmp_path):
    nodes = one("LogSoftmax", axis=1)
    path = written(tmp_path / "net.onnx", nodes, ("n", 8), opset=opset)

    output, expected = outputs_of(path, FAR)

    np.testing.assert_allclose(output, expected, rtol=1e-6)
    assert output.min() == -170


@pytest.mark.real("onnx", "onnxruntime")
def test_a_negative_index_counts_from_the_end_of_a_table(tmp_path):
    table = {"table": np.arange(12, dtype=np.float32).reshape(6, 2)}
    path = written(
        tmp_path / "net.onnx", [("Gather", ["table", "x"], ["y"], {})], ("n", 3), table, kind=7
    )

    output, expected = outputs_of(path, np.array([[0, -1, -6]]))

    np.testing.assert_array_equal(output, expected)
    with pytest.raises(AssayError, match="The index 6 is out of range"):
        outputs_of(path, np.array([[0, 6, 1]]))


@pytest.mark.real("onnx")
def test_an_index_that_is_known_and_out_of_range_is_refused(tmp_path):
    path = written(
        tmp_path / "net.onnx", one("Gather", "at", axis=1), ("n", 3), {"at": np.array([3])}
    )

    with pytest.raises(UsageError, match=r"a Gather .* its indices exceed the 3 rows of axis 1"):
        read_onnx(path)


@pytest.mark.real("onnx")
@pytest.mark.parametrize(
    "nodes, why",
    [
        (
            [("Sub", ["x", "large"], ["d"], {}), ("Cast", ["d"], ["y"], {"to": 1})],
            "a Sub that .* its integers may exceed 16777216",
        ),
        (
            [("Cast", ["x"], ["s"], {"to": 6}), ("Cast", ["s"], ["y"], {"to": 1})],
            "may exceed int32",
        ),
        ([("Div", ["x", "large"], ["d"], {}), ("Cast", ["d"], ["y"], {"to": 1})], "with integers"),
    ],
)
def test_integers_that_float32_does_not_hold_are_refused(nodes, why, tmp_path):
    weights = {"large": np.array(16777216)}
    path = written(tmp_path / "net.onnx", nodes, ("n", 3), weights, kind=7)

    with pytest.raises(UsageError, match=why):
        read_onnx(path)


@pytest.mark.real("onnx", "onnxruntime")
def test_large_integers_are_compared_exactly_with_small_ones(tmp_path):
    nodes = [("Less", ["x", "small"], ["l"], {}), ("Cast", ["l"], ["y"], {"to": 1})]
    path = written(tmp_path / "net.onnx", nodes, ("n", 4), {"small": np.array(7)}, kind=7)

    output, expected = outputs_of(path, np.array([[6, 7, 2**24 + 1, -(2**40) - 1]]))

    np.testing.assert_array_equal(output, expected)


@pytest.mark.real("onnx", "onnxruntime")
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_resize_of_opset_10_has_asymmetric_coordinates(mode, tmp_path):
    weights = {"scales": np.array([1, 1, 2.5, 2], np.float32)}
    nodes = one("Resize", "scales", mode=mode)
    path = written(tmp_path / "net.onnx", nodes, ("n", 2, 6, 5), weights, opset=10)

    output, expected = outputs_of(
        path, np.random.default_rng(0).normal(size=(1, 2, 6, 5)).astype("f4")
    )

    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.real("onnx", "onnxruntime")
def test_a_nan_stays_beside_its_pixel_when_an_image_is_resized(tmp_path):
    weights = {"scales": np.array([1, 1, 2, 3], np.float32)}
    nodes = one("Resize", "", "scales", mode="linear")
    path = written(tmp_path / "net.onnx", nodes, ("n", 1, 5, 6), weights)
    image = np.ones((1, 1, 5, 6), np.float32)
    image[0, 0, 2, 3] = np.nan

    output, expected = outputs_of(path, image)

    np.testing.assert_array_equal(np.isnan(output), np.isnan(expected))
    np.testing.assert_allclose(output, expected)


@pytest.mark.real("onnx")
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_corners_aligned_to_a_part_of_a_pixel_are_refused(mode, tmp_path):
    """ONNX's expected outputs and ONNX Runtime differ."""
    weights = {"scales": np.array([1, 1, 0.6, 0.6], np.float32)}
    corners = {"coordinate_transformation_mode": "align_corners"}
    nodes = one("Resize", "", "scales", mode=mode, **corners)
    path = written(tmp_path / "net.onnx", nodes, ("n", 1, 2, 4), weights)

    with pytest.raises(UsageError, match=r"it scales 2 pixels by 0\.6 with align_corners"):
        read_onnx(path)


@pytest.mark.real("onnx")
@pytest.mark.parametrize(
    "nodes, why",
    [
        (one("Cast", to=10), "it casts computed float32 to float16"),
        (one("Dropout", "ratio", "true"), "training mode; supported: training_mode=false"),
        (one("Gemm", "matrix"), r"its input 'x' is not|its inputs do not fit|bias"),
    ],
)
def test_what_was_ignored_is_refused(nodes, why, tmp_path):
    weights = {
        "ratio": np.array(0.5, np.float32),
        "true": np.array(True),
        "matrix": np.ones((7, 3), np.float32),
    }
    path = written(tmp_path / "net.onnx", nodes, ("n", 4), weights)

    with pytest.raises(UsageError, match=why):
        read_onnx(path)


@pytest.mark.real("onnx", "onnxruntime")
def test_a_bias_that_differs_between_items_is_added_or_refused(tmp_path):
    weights = {"w": np.ones((4, 3), np.float32), "b": np.arange(6, dtype=np.float32).reshape(2, 3)}
    path = written(tmp_path / "net.onnx", one("Gemm", "w", "b"), (2, 4), weights)
    free = written(tmp_path / "free.onnx", one("Gemm", "w", "b"), ("n", 4), weights)

    imported, expected = import_onnx(path), onnx_reference(path, import_onnx(path))

    (output,) = reference.outputs(imported.graph, *expected.inputs)
    np.testing.assert_allclose(output, expected.outputs[0], rtol=1e-5)
    with pytest.raises(UsageError, match=r"its bias of \(2, 3\) differs between items"):
        read_onnx(free)


@pytest.mark.real("onnx", "onnxruntime")
def test_a_file_that_onnx_runtime_cannot_run_is_refused_with_its_reason(tmp_path):
    nodes = one("Mish")  # opset 28 is newer than ONNX Runtime's
    path = written(tmp_path / "net.onnx", nodes, ("n", 4), opset=28)

    with pytest.raises(UsageError, match=r"ONNX Runtime cannot run .*net\.onnx: "):
        onnx_reference(path, import_onnx(path))


@pytest.mark.real("onnx", "onnxruntime")
@pytest.mark.parametrize(
    "nearest, scale, opset",
    [("round_prefer_floor", 1.3, 13), ("floor", 0.6, 19), ("", 0.6, 10), ("", 1.3, 10)],
)
def test_nearest_rows_are_those_of_onnx_runtime(nearest, scale, opset, tmp_path):
    """Positions halfway between two rows are rounded in float32; opset 10 defines no rounding."""
    weights = {"scales": np.array([1, 1, scale, scale], np.float32)}
    how = {"nearest_mode": nearest} if nearest else {}
    nodes = one("Resize", *["", "scales"][opset == 10 :], mode="nearest", **how)
    path = written(tmp_path / "net.onnx", nodes, ("n", 1, 7, 10), weights, opset=opset)

    output, expected = outputs_of(path, np.arange(70, dtype="f4").reshape(1, 1, 7, 10))

    np.testing.assert_array_equal(output, expected)


@pytest.mark.real("onnx", "onnxruntime")
@pytest.mark.parametrize("bounds", [("zero",), ("", "zero"), ("", ""), ("low", "zero")])
def test_a_missing_bound_clips_infinity_to_the_largest_float(bounds, tmp_path):
    weights = {"zero": np.array(0, np.float32), "low": np.array(-np.inf, np.float32)}
    path = written(tmp_path / "net.onnx", one("Clip", *bounds), ("n", 4), weights)

    output, expected = outputs_of(path, np.array([[-np.inf, -1, 1, np.inf]], np.float32))

    np.testing.assert_array_equal(output, expected)


@pytest.mark.real("onnx", "onnxruntime")
def test_a_norm_that_is_0_in_float32_gives_0(tmp_path):
    path = written(tmp_path / "net.onnx", one("LpNormalization", axis=1, p=2), ("n", 3))

    output, expected = outputs_of(path, np.array([[1e-30, -2e-30, 0], [3, 4, 0]], np.float32))

    np.testing.assert_allclose(output, expected, rtol=1e-6)
    np.testing.assert_array_equal(output[0], 0)


@pytest.mark.real("onnx")
@pytest.mark.parametrize(
    "nodes, opset, why",
    [
        (one("Celu", alpha=-0.5), 17, "its alpha is -0.5; supported: more than 0"),
        (one("Shrink", lambd=-1.0), 17, "its lambd is -1; supported: 0 or more"),
        (one("PRelu", "infinite"), 17, "its slopes are infinite or NaN"),
        (
            [("Dropout", ["x"], ["d", "m"], {}), ("Cast", ["m"], ["y"], {"to": 1})],
            10,
            "opset 10 does not define its mask 'm'",
        ),
        ([("PRelu", ["infinite", "x"], ["y"], {})], 17, "its input 'infinite' is known"),
        (one("Cast"), 17, "its attribute 'to' is missing"),
    ],
)
def test_numbers_with_another_meaning_are_refused(nodes, opset, why, tmp_path):
    weights = {"infinite": np.array([np.inf], np.float32)}
    path = written(tmp_path / "net.onnx", nodes, ("n", 4), weights, opset=opset)

    with pytest.raises(UsageError, match=why):
        read_onnx(path)

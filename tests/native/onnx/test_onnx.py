"""A graph written as ONNX computes what the oracle computes, in other hands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from assay.core.errors import AssayError
from assay.native import ops, reference
from assay.native.capture import capture
from assay.native.onnx.file import onnx_bytes, write_onnx
from assay.native.passes import fusion
from assay.native.passes.pipeline import optimize
from tests.native.by_others import by_onnxruntime, by_openvino
from tests.native.making import Making
from tests.native.random_graphs import graphs, inputs_for


def check(graph, compute=by_onnxruntime):
    inputs = inputs_for(graph)
    for wanted, found in zip(
        reference.outputs(graph, *inputs, dtype=np.float64), compute(graph, inputs), strict=True
    ):
        scale = max(1, np.abs(wanted).max())
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.real("onnxruntime")
@settings(max_examples=100, deadline=None, derandomize=True)
@given(graphs())
def test_onnxruntime_computes_random_graphs_as_the_oracle_does(graph):
    check(graph)


@pytest.mark.real("onnxruntime")
@settings(max_examples=50, deadline=None, derandomize=True)
@given(graphs())
def test_fused_graphs_are_written_as_well(graph):
    check(fusion.fuse_pools(optimize(graph)))


@pytest.mark.real("openvino")
@settings(max_examples=25, deadline=None, derandomize=True)
@given(graphs())
def test_openvino_computes_random_graphs_as_the_oracle_does(graph):
    check(graph, by_openvino)


@pytest.mark.real("onnxruntime")
@pytest.mark.parametrize("kind", ["max", "average"])
def test_zeros_around_a_picture_count_in_the_pool_that_follows(kind):
    """ONNX Runtime would join the two, and forget that zeros are larger than what is below."""
    made = Making(2, 5, 5)
    below = made.add(ops.BinaryOp("subtract"), made.input, made.conv(made.input, 2))
    padded = made.add(ops.PadOp((1, 1, 1, 1)), below)

    check(made.graph(made.add(ops.PoolOp(kind, (2, 2), (2, 2)), padded)))


@pytest.mark.real("onnxruntime")
def test_a_picture_is_turned_and_padded():
    """ONNX Runtime puts the transpose behind the padding, whose axes are then others."""
    made = Making(5, 6, 2)
    turned = made.add(ops.TransposeOp((2, 0, 1)), made.input)
    padded = made.add(ops.PadOp((0, 1, 2, 3)), turned)

    check(made.graph(made.add(ops.PoolOp("max", (2, 2), (1, 1)), padded)))


@pytest.mark.real("onnx")
@settings(max_examples=50, deadline=None, derandomize=True)
@given(graphs())
def test_the_onnx_checker_finds_nothing_wrong(graph):
    import onnx

    onnx.checker.check_model(onnx.load_from_string(onnx_bytes(graph)), full_check=True)


@pytest.mark.real("onnxruntime")
def test_dense_layers_over_rows_and_an_input_that_is_an_output_are_written():
    made = Making(3, 4)
    dense = made.add(ops.DenseOp(made.constant(5, 4), made.constant(5)), made.input)

    check(made.graph(dense, made.input, dense))


@pytest.mark.real("onnxruntime", "keras", "jax")
@pytest.mark.parametrize("kind", ["Average", "Max"])
def test_a_global_pool_may_keep_its_axes(kind, keras):
    pool = getattr(keras.layers, f"Global{kind}Pooling2D")(keepdims=True)

    check(capture(keras.Sequential([keras.Input((4, 5, 2)), pool])))


@pytest.mark.real("onnxruntime")
def test_values_of_any_name_are_written_each_once():
    made = Making(2, 5, 5)
    pooled = made.building.add("a", ops.GlobalPoolOp("max"), made.input)
    for name in ("a/kept", "a/kept'", "a/0", "a/product"):
        pooled = made.building.add(name, ops.ActivationOp("silu"), pooled)

    check(made.graph(pooled))


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    made = Making(3, 4)
    graph = made.graph(made.add(ops.ActivationOp("relu"), made.input))
    (tmp_path / "taken").mkdir()

    with pytest.raises(AssayError, match="taken cannot be written"):
        write_onnx(graph, tmp_path / "taken")

    assert [path.name for path in tmp_path.iterdir() if "taken" in path.name] == ["taken"]

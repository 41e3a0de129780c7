"""A graph written as ONNX computes what the oracle computes, in other hands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from assay.errors import AssayError
from assay.native import ops, oracle
from assay.native.onnx_file import onnx_bytes, write_onnx
from assay.native.passes import fusion
from assay.native.passes.pipeline import optimized
from tests.native.making import Making
from tests.native.random_graphs import graphs, inputs_for


def by_onnxruntime(graph, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        onnx_bytes(graph), options, providers=["CPUExecutionProvider"]
    )
    named = {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
    return session.run(None, named)


def check(graph):
    inputs = inputs_for(graph)
    for wanted, found in zip(
        oracle.outputs(graph, *inputs, dtype=np.float64),
        by_onnxruntime(graph, inputs),
        strict=True,
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
    check(fusion.fuse_pools(optimized(graph)))


@pytest.mark.real("onnx")
@settings(max_examples=50, deadline=None, derandomize=True)
@given(graphs())
def test_the_onnx_checker_finds_nothing_wrong(graph):
    import onnx

    onnx.checker.check_model(onnx.load_from_string(onnx_bytes(graph)), full_check=True)


@pytest.mark.real("onnxruntime")
def test_dense_layers_over_rows_and_an_input_that_is_an_output_are_written():
    made = Making(3, 4)
    dense = made.add(ops.Dense(made.constant(5, 4), made.constant(5)), made.input)

    check(made.graph(dense, made.input, dense))


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    made = Making(3, 4)
    graph = made.graph(made.add(ops.Activation("relu"), made.input))
    (tmp_path / "taken").mkdir()

    with pytest.raises(AssayError, match="taken cannot be written"):
        write_onnx(graph, tmp_path / "taken")

    assert [path.name for path in tmp_path.iterdir() if "taken" in path.name] == ["taken"]

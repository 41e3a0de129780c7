"""ONNX files whose batch is not always the first axis: they compute the same, or are refused."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.native.onnx.model import read_model
from assay.native.onnx.read import Importing, import_onnx
from tests.native.test_onnx_import import assert_as_onnx_runtime, written

BATCH, TOKENS, SIZE, HEADS = 2, 5, 8, 2
RANDOM = np.random.default_rng(2)
HELD = {
    "qkv": RANDOM.normal(size=(SIZE, 3 * SIZE)).astype(np.float32),
    "of rows": RANDOM.normal(size=(TOKENS, 1, SIZE)).astype(np.float32),
    "of heads": RANDOM.normal(size=(HEADS, 1, 4)).astype(np.float32),
    "of all": np.ones((TOKENS, BATCH, SIZE), np.float32),
    "of each": np.arange(TOKENS * BATCH * SIZE, dtype=np.float32).reshape(TOKENS, BATCH, SIZE),
    "apart": np.array([0, 0, 3, HEADS, 4], np.int64),
    "heads": np.array([TOKENS, -1, 4], np.int64),
    "together": np.array([BATCH, HEADS, TOKENS, 4], np.int64),
    "windows": np.array([-1, TOKENS, 3, HEADS, 2], np.int64),
    "of windows": np.array([BATCH, -1], np.int64),
    "wide": np.array([0, TOKENS, 2, 12], np.int64),
    "turned": np.array([-1, TOKENS, 12], np.int64),
    "flat": np.array([-1], np.int64),
    "in order": np.arange(BATCH * TOKENS * SIZE).reshape(BATCH, TOKENS, SIZE),
    "backwards": np.arange(BATCH * TOKENS * SIZE)[::-1].reshape(BATCH, TOKENS, SIZE).copy(),
    "half": np.array(0.5, np.float32),
    "0": np.array(0),
    "1": np.array(1),
    "2": np.array(2),
    "at 0": np.array([0]),
    "at 1": np.array([1]),
    "at -2": np.array([-2]),
    "one each": np.array([1, 1, 1]),
}


def attention(order, found):
    """Of queries, keys and values, whose last axes are tokens and the size of a head."""
    return [
        ("Transpose", ["k"], ["turned keys"], {"perm": order}),
        ("MatMul", ["q", "turned keys"], ["products"], {}),
        ("Softmax", ["products"], ["shares"], {"axis": -1}),
        ("MatMul", ["shares", "v"], [found], {}),
    ]


PROJECTED = [("MatMul", ["x", "qkv"], ["all"], {}), ("Reshape", ["all", "apart"], ["five"], {})]
TAKEN_APART = [*PROJECTED, ("Transpose", ["five"], ["parts"], {"perm": [2, 0, 3, 1, 4]})]
TAKEN = [("Gather", ["parts", str(n)], ["qkv"[n]], {"axis": 0}) for n in range(3)]
SECOND = [("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]})]  # the batch is the second axis
BACK = ("Transpose", ["found"], ["y"], {"perm": [1, 0, 2]})
NETS = {
    "queries, keys and values by rows": [
        *TAKEN_APART,
        *TAKEN,
        *attention([0, 1, 3, 2], "y"),
    ],
    "split and squeezed": [
        *TAKEN_APART,
        ("Mul", ["parts", "half"], ["scaled"], {}),
        ("Relu", ["scaled"], ["positive"], {}),
        ("Split", ["positive", "one each"], ["q1", "k1", "v1"], {"axis": 0}),
        *[("Squeeze", [f"{name}1", "at 0"], [name], {}) for name in "qkv"],
        *attention([0, 1, 3, 2], "y"),
    ],
    "keys as columns": [
        *PROJECTED,
        ("Transpose", ["five"], ["parts"], {"perm": [2, 0, 3, 4, 1]}),
        *TAKEN,
        *attention([0, 1, 3, 2], "y"),
    ],
    "of windows that are items": [
        ("MatMul", ["x", "qkv"], ["all"], {}),
        ("Reshape", ["all", "wide"], ["w"], {}),
        ("Transpose", ["w"], ["w2"], {"perm": [0, 2, 1, 3]}),
        ("Reshape", ["w2", "turned"], ["joined"], {}),
        ("Reshape", ["joined", "windows"], ["five"], {}),
        ("Transpose", ["five"], ["parts"], {"perm": [2, 0, 3, 1, 4]}),
        *TAKEN,
        *attention([0, 1, 3, 2], "found"),
        ("Reshape", ["found", "of windows"], ["y"], {}),
    ],
    "the batch second, as in torch's MultiheadAttention": [
        *SECOND,
        ("Unsqueeze", ["t", "at 0"], ["u"], {}),
        ("Transpose", ["u"], ["s"], {"perm": [2, 1, 0, 3]}),
        ("Transpose", ["s"], ["s2"], {"perm": [2, 1, 0, 3]}),
        ("Squeeze", ["s2", "at 0"], ["rows"], {}),
        ("Reshape", ["rows", "heads"], ["r"], {}),
        *[("Transpose", ["r"], [name], {"perm": [1, 0, 2]}) for name in "qkv"],
        *attention([0, 2, 1], "found"),
        ("Reshape", ["found", "together"], ["y"], {}),
    ],
    "rows of the batch second": [
        *SECOND,
        ("MatMul", ["t", "qkv"], ["p"], {}),
        ("Softmax", ["p"], ["found"], {"axis": 0}),
        BACK,
    ],
    "known numbers for each row": [
        *SECOND,
        ("Add", ["t", "of rows"], ["sum"], {}),
        ("Mul", ["sum", "of all"], ["found"], {}),
        BACK,
    ],
    "parts and means": [
        *SECOND,
        ("Slice", ["t", "at 1", "at -2", "at 0"], ["middle"], {}),
        ("Concat", ["middle", "t"], ["more"], {"axis": 0}),
        ("LayerNormalization", ["more", "of width"], ["normed"], {"axis": -1}),
        ("ReduceMean", ["normed"], ["y"], {"axes": [0], "keepdims": 0}),
    ],
    "numbers known for joined rows": [
        ("Reshape", ["x", "heads of all"], ["r"], {}),
        ("Transpose", ["r"], ["t"], {"perm": [1, 0, 2]}),
        ("Add", ["t", "of heads"], ["sum"], {}),
        ("Transpose", ["sum"], ["back"], {"perm": [1, 0, 2]}),
        ("Reshape", ["back", "of windows"], ["y"], {}),
    ],
    "all numbers in their order": [
        ("Reshape", ["x", "flat"], ["f"], {}),
        ("Gather", ["f", "in order"], ["y"], {}),
    ],
}
HELD |= {
    "of width": RANDOM.normal(size=SIZE).astype(np.float32),
    "heads of all": np.array([-1, HEADS, 4], np.int64),
}


@pytest.mark.real("onnx", "onnxruntime")
@pytest.mark.parametrize("name", NETS)
def test_a_batch_that_is_moved_computes_what_onnx_runtime_computes(name, tmp_path):
    assert_as_onnx_runtime(written(tmp_path / "net.onnx", NETS[name], (BATCH, TOKENS, SIZE), HELD))


@pytest.mark.real("onnx")
@pytest.mark.parametrize(
    "nodes, why",
    [
        ([("Softmax", ["t"], ["y"], {"axis": 1})], "a Softmax that cannot .* axis 1 is the batch"),
        ([("Add", ["t", "x"], ["y"], {})], "a Add that .* batches in different places"),
        ([("MatMul", ["t", "t"], ["y"], {})], "a MatMul that .* of its matrices is the batch"),
        ([("Flatten", ["t"], ["y"], {})], "a Flatten that .* not the first axis by itself"),
        ([("Reshape", ["t", "flat"], ["y"], {})], "a Reshape that .* not item by item"),
        ([("Add", ["t", "of each"], ["y"], {})], r"a Add that .* numbers of \(2, 5, 8\)"),
        ([("LayerNormalization", ["t", "half"], ["y"], {"axis": 0})], "the batch is among the ax"),
        ([("Relu", ["t"], ["y"], {})], "a Relu that .* the batch of the output 'y' is axis 1"),
        (
            [("Reshape", ["x", "flat"], ["f"], {}), ("Gather", ["f", "backwards"], ["y"], {})],
            "a Gather that .* axis 0 is the batch",
        ),
    ],
)
def test_what_works_along_a_moved_batch_is_refused_by_operator_and_node(nodes, why, tmp_path):
    path = written(tmp_path / "net.onnx", [*SECOND, *nodes], (BATCH, TOKENS, SIZE), HELD)

    with pytest.raises(UsageError, match=why):
        Importing(read_model(path), {}).graph()


@pytest.mark.real("onnx", "onnxruntime")
@pytest.mark.parametrize(
    "nodes",
    [
        [("Softmax", ["t"], ["y"], {"axis": 1})],
        [("Flatten", ["t"], ["y"], {})],
        [("Reshape", ["t", "flat"], ["y"], {})],
        [("Add", ["t", "of each"], ["y"], {})],
        [("Reshape", ["x", "flat"], ["f"], {}), ("Gather", ["f", "backwards"], ["y"], {})],
        [("ReduceSum", ["t"], ["y"], {"keepdims": 0})],
        [("Gather", ["t", "at -2"], ["y"], {"axis": 1})],
    ],
)
def test_a_model_that_mixes_the_rows_of_its_first_axis_takes_whole_inputs(nodes, tmp_path):
    path = written(tmp_path / "net.onnx", [*SECOND, *nodes], (BATCH, TOKENS, SIZE), HELD)

    imported = import_onnx(path)

    assert not imported.batched
    assert imported.graph.inputs[0].shape == (BATCH, TOKENS, SIZE)
    assert_as_onnx_runtime(path)

"""Graphs that programs wrote down, read again."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import AssayError, UsageError
from assay.native import ops, reference
from assay.native.hpvm.recording import read_recording
from assay.native.passes.pipeline import optimize

TEXT = """\
hpvm-graph 1
data0 2 4 4
const0 3 2 3 3
v0 = conv data0 const0 1 1 1 1 1
const1 1 3 1 1
v1 = add v0 const1
v2 = tanh v1
v3 = pool_mean v2 2 2 0 0 2 2
const2 1 1 12 5
v4 = mul v3 const2
const3 1 5 1 1
v5 = add v4 const3
v6 = softmax v5
output v6
"""


def written(folder, text=TEXT):
    numbers = np.random.default_rng(1).normal(size=3 * 2 * 9 + 3 + 60 + 5).astype(np.float32)
    (folder / "graph.txt").write_text(text)
    numbers.tofile(folder / "constants.bin")
    return numbers


def test_biases_become_the_layers_own(tmp_path):
    written(tmp_path)

    graph = optimize(read_recording(tmp_path))

    kinds = [type(node.op) for node in graph.nodes]
    assert kinds == [ops.ConvOp, ops.PoolOp, ops.ReshapeOp, ops.DenseOp, ops.SoftmaxOp]
    assert graph.nodes[0].op.bias and graph.nodes[3].op.bias


def test_weights_are_taken_one_after_the_other(tmp_path):
    numbers = written(tmp_path)
    image = np.random.default_rng(2).normal(size=(2, 2, 4, 4)).astype(np.float32)

    (found,) = reference.outputs(read_recording(tmp_path), image)

    weight, rest = numbers[:54].reshape(3, 2, 3, 3), numbers[54:]
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    values = np.tanh(np.einsum("nchwij,ocij->nohw", windows, weight) + rest[:3, None, None])
    pooled = values.reshape(2, 3, 2, 2, 2, 2).mean((3, 5)).reshape(2, 12)
    logits = pooled @ rest[3:63].reshape(12, 5) + rest[63:]
    wanted = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_vector_is_a_picture_of_one_pixel_where_one_is_needed(tmp_path):
    more = TEXT.replace("output v6", "v7 = pool_max v6 1 1 0 0 1 1\nv8 = add v7 v6\noutput v8")
    written(tmp_path, more)

    assert read_recording(tmp_path).shapes()["v8"] == (5, 1, 1)


@pytest.mark.parametrize(
    ("text", "kind", "complaint"),
    [
        ("something", AssayError, "is no graph of an HPVM-C program"),
        (TEXT.replace("const2 1 1 12 5", "const2 1 1 6 10"), UsageError, "mul .v4. cannot be"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, text, kind, complaint):
    written(tmp_path, text)

    with pytest.raises(kind, match=complaint):
        read_recording(tmp_path)

"""A graph comes back from its file as it was, and a damaged file is told as such."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from assay.core.errors import AssayError, UsageError
from assay.native import files, ops
from assay.native.graph import Graph, Node, Value
from tests.native.making import Making
from tests.native.random_graphs import graphs


@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(graph=graphs())
def test_a_graph_comes_back_as_it_was(graph, tmp_path):
    files.write(graph, tmp_path / "graph.npz")

    back = files.read(tmp_path / "graph.npz")

    assert (back.nodes, back.inputs, back.outputs) == (graph.nodes, graph.inputs, graph.outputs)
    assert files.digest(back) == files.digest(graph)
    assert sorted(path.name for path in tmp_path.glob("*.npz")) == ["graph.npz"]


def test_the_digest_tells_other_weights_and_other_operations_apart():
    made = Making(3, 4, 4)
    graph = made.graph(made.conv(made.input, 4))
    weight = graph.nodes[0].op.weight
    heavier = dict(graph.constants) | {weight: graph.constants[weight] + 1}
    strided = msgspec.structs.replace(
        graph.nodes[0],
        op=msgspec.structs.replace(graph.nodes[0].op, strides=(2, 2)),
        shape=(4, 2, 2),
    )

    others = {
        files.digest(graph),
        files.digest(msgspec.structs.replace(graph, constants=heavier)),
        files.digest(msgspec.structs.replace(graph, nodes=(strided,))),
    }

    assert len(others) == 3


def test_a_cut_file_is_no_whole_graph(tmp_path):
    made = Making(3, 4, 4)
    files.write(made.graph(made.conv(made.input, 4)), tmp_path / "graph.npz")
    whole = (tmp_path / "graph.npz").read_bytes()
    (tmp_path / "graph.npz").write_bytes(whole[: len(whole) // 2])

    with pytest.raises(AssayError, match="is no whole graph file"):
        files.read(tmp_path / "graph.npz")


def test_a_file_of_something_else_is_no_graph(tmp_path):
    np.savez(tmp_path / "weights.npz", kernel=np.zeros(3))

    with pytest.raises(AssayError, match="is no whole graph file"):
        files.read(tmp_path / "weights.npz")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"There is no graph file .*lost.npz"):
        files.read(tmp_path / "lost.npz")


RELU = ops.ActivationOp("relu")


@pytest.mark.parametrize(
    "nodes, outputs, what",
    [
        ([("a", ("lost",), (2,))], ("a",), "reads 'lost', which no earlier node computes"),
        ([("input", ("input",), (2,))], ("input",), "writes 'input', which exists already"),
        ([("a", ("input",), (3,))], ("a",), r"gives \(2,\), not \(3,\) as it says"),
        ([("a", ("input",), (2,))], ("b",), "the output 'b' is computed by no node"),
    ],
)
def test_a_graph_that_is_not_right_is_refused(nodes, outputs, what):
    with pytest.raises(UsageError, match=what):
        Graph(
            name="wrong",
            inputs=(Value("input", (2,)),),
            nodes=tuple(
                Node(name=name, op=RELU, inputs=inputs, output=name, shape=shape)
                for name, inputs, shape in nodes
            ),
            outputs=outputs,
        )


@pytest.mark.parametrize(
    "op, what",
    [
        (ops.ConvOp("weight", groups=3), r"a weight of \(4, 3, 3, 3\) in 3 groups for 3 channels"),
        (ops.ConvOp("weight", bias="weight"), r"is not of shape \(4,\)"),
        (ops.ConvOp("lost"), "needs the constant 'lost', which is missing"),
        (ops.PoolOp("max", (9, 9), (1, 1)), "does not fit"),
        (ops.PoolOp("max", (2, 2), (1, 1), (2, 0, 0, 0)), r"a window of \(2, 2\) with padding"),
        (ops.ReshapeOp((7,)), r"\(3, 5, 5\) is not \(7,\)"),
        (ops.TransposeOp((0, 1)), r"the order \(0, 1\)"),
        (ops.BinaryOp("add"), "1 inputs, but it takes 2"),
        (ops.SoftmaxOp(3), "there is no axis 3"),
        (ops.ConvOp("weight", post=(ops.ResidualOp(),)), "1 inputs, but it takes 2"),
    ],
)
def test_an_operation_that_does_not_fit_is_told_in_words(op, what):
    with pytest.raises(UsageError, match=what):
        Graph(
            name="wrong",
            inputs=(Value("input", (3, 5, 5)),),
            nodes=(Node(name="a", op=op, inputs=("input",), output="a", shape=(1,)),),
            outputs=("a",),
            constants={"weight": np.zeros((4, 3, 3, 3), np.float32)},
        )

"""Rows by computed integers, values by known positions: in a program as in the reference."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.native import ops, reference
from assay.native.graph import Graph
from assay.native.graph_builder import GraphBuilder
from assay.native.library import LoadedModel
from tests.native.built import compiled

FUNCTIONS = ("floor", "ceil", "round", "truncate", "sign", "tan", "asin", "acos", "atan", "sinh")
FUNCTIONS += ("cosh", "asinh", "acosh", "atanh")


@pytest.fixture
def load(plain_tools, native_cache):
    """The library of a graph, which is closed at the end."""
    with ExitStack() as stack:

        def open_model(graph: Graph, batch: int, threads: int = 1) -> LoadedModel:
            emitted, built = compiled(graph, plain_tools, native_cache)
            model = LoadedModel(built, emitted, batch, threads, "portable", seconds=0)
            stack.callback(model.close)
            return model

        yield open_model


def index_graph() -> Graph:
    """Rows of an image by a second input, of a table by the same, and positions of the image."""
    builder = GraphBuilder()
    image = builder.add_input("image", (3, 2, 4), "channels_first").value
    indices = builder.add_input("indices", (2,), dtype="int32").value
    rows = builder.add("rows", ops.ReshapeOp((6, 4)), image)
    gathered = builder.add("gathered", ops.GatherOp(), rows, indices)
    table = builder.constant("table", np.arange(12).reshape(6, 2))
    embedded = builder.add("embedded", ops.EmbeddingOp(table, checked=True), indices)
    positions = builder.constant("positions", np.array([[[23, -1], [0, 5]], [[8, 8], [7, 1]]]))
    taken = builder.add("taken", ops.TakeOp(positions), image)
    return builder.graph("indices", [gathered, embedded, taken])


def functions_graph() -> Graph:
    builder = GraphBuilder()
    value = builder.add_input("x", (7,)).value
    divisor = builder.add("divisor", ops.ConstantOp(builder.constant("n", np.full(7, 0.4))))
    results = [builder.add(kind, ops.ActivationOp(kind), value) for kind in FUNCTIONS]
    results.append(builder.add("remainder", ops.BinaryOp("remainder"), value, divisor))
    results.append(builder.add("where", ops.BinaryOp("where"), divisor, value))
    return builder.graph("functions", results)


@pytest.mark.real("compiler")
@pytest.mark.parametrize("threads", [1, 3])
def test_a_program_takes_rows_and_positions_as_the_reference(threads, load):
    graph = index_graph()
    image = np.arange(72, dtype=np.float32).reshape(3, 3, 2, 4)
    indices = np.array([[0, -1], [5, -6], [2, 2]], np.int32)

    outputs = load(graph, 3, threads).run(image, indices)

    for output, expected in zip(outputs, reference.outputs(graph, image, indices), strict=True):
        np.testing.assert_array_equal(output, expected)


@pytest.mark.real("compiler")
@pytest.mark.parametrize("index", [6, -7, 2**24 + 1])
def test_an_index_out_of_range_is_an_error_and_the_next_batch_is_computed(index, load):
    graph = index_graph()
    image, right = np.ones((2, 3, 2, 4), np.float32), np.zeros((2, 2), np.int32)
    wrong = right.copy()
    wrong[1, 0] = index
    model = load(graph, 2)

    for compute in (model.run, partial(reference.outputs, graph)):
        with pytest.raises(AssayError, match=r"The index -?\d+ is out of range: .* has 6 rows"):
            compute(image, wrong)
    np.testing.assert_array_equal(model.run(image, right)[0], 1)


@pytest.mark.real("compiler")
def test_a_program_computes_functions_as_numpy(load):
    graph = functions_graph()
    rows = [[-0.5, 0.5, 1.5, -1.5, 0.9, -0.0, 2.5], [np.inf, -np.inf, np.nan, 0, 1e30, 1e-30, -3]]
    values = np.array(rows, np.float32)

    outputs = load(graph, 2).run(values)

    with np.errstate(all="ignore"):
        expected = reference.outputs(graph, values)
    for name, output, array in zip(graph.outputs, outputs, expected, strict=True):
        np.testing.assert_allclose(output, array, rtol=1e-5, err_msg=name)


def test_positions_beyond_the_item_are_refused():
    builder = GraphBuilder()
    value = builder.add_input("x", (3,)).value
    positions = builder.constant("positions", np.array([3]))

    with pytest.raises(ValueError, match="a position beyond the 3 values of an item"):
        builder.add("taken", ops.TakeOp(positions), value)

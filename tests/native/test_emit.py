"""A graph as C++ reads like the network, and its weights file can be read by its index."""

from __future__ import annotations

import io

import msgspec
import numpy as np
import pytest

from assay.native import ops
from assay.native.build import write_weights
from assay.native.emit import emit, file_name
from assay.native.graph import Value
from assay.native.graph_builder import GraphBuilder
from assay.native.passes.pipeline import optimize
from tests.native.built import compiled, loaded_outputs
from tests.native.making import Making


def small(name="small"):
    """Channels last, as Keras writes it: turned where it comes in, and before it is flattened."""
    made = GraphBuilder()
    made.add_input("picture", (6, 6, 2), "channels_last")
    turned = made.add("turn", ops.TransposeOp((2, 0, 1)), "picture")
    kernel = made.constant("conv/kernel", np.ones((4, 2, 3, 3)))
    bias = made.constant("conv/bias", np.zeros(4))
    conv = made.add("conv", ops.ConvOp(kernel, bias, pads=(1, 1, 1, 1)), turned)
    active = made.add("tanh", ops.ActivationOp("tanh"), conv)
    pooled = made.add("pool", ops.PoolOp("max", (2, 2), (2, 2)), active)
    flat = made.add("flat", ops.ReshapeOp((36,)), pooled)
    dense = made.add("dense", ops.DenseOp(made.constant("dense/kernel", np.ones((3, 36)))), flat)
    return optimize(made.graph(name, [made.add("soft", ops.SoftmaxOp(0), dense)]))


def test_each_layer_is_a_line():
    found = emit(small())

    body = [line.strip() for line in found.source.splitlines() if line.startswith("    ")]
    assert body == [
        "const Value v_picture = net.image({2, 6, 6});",
        "const Value v_conv = net.convolution(v_picture, {4, 6, 6}, {3, 3}, "
        '"conv/kernel", "conv/bias").pads(1, 1, 1, 1);',
        "const Value v_pool = net.max_pool(v_conv, {4, 3, 3}, {2, 2}).tanh();",
        "const Value v_flat = net.reshape(v_pool, {36});",
        'const Value v_dense = net.dense(v_flat, {3}, "dense/kernel");',
        "const Value v_soft = net.softmax(v_dense, 0);",
        "net.output(v_soft);",
    ]


def test_data_files_have_channels_first_whatever_the_model_has():
    found = emit(small())

    assert found.inputs == (Value("picture", (2, 6, 6), "channels_first"),)
    assert found.channels_last == (True,)


def test_names_that_are_no_names_in_cxx_are_made_so():
    made = Making(2, 4, 4)
    graph = made.graph(made.add(ops.ActivationOp("relu"), made.input))
    graph = msgspec.structs.replace(
        graph, nodes=(msgspec.structs.replace(graph.nodes[0], output="2/for"),), outputs=("2/for",)
    )

    assert "const Value v_2_for = " in emit(graph).source


@pytest.mark.real("compiler")
def test_a_layer_may_have_any_name(plain_tools, native_cache):
    made = GraphBuilder()
    value = made.add_input("input", (4,)).value
    for name in ("export", "register", "NULL", "net", "v_net", "EOF", "linux", "a é ☃ b", '"\\'):
        value = made.add(name, ops.DenseOp(made.constant(f"{name}/kernel", np.eye(4))), value)
    graph = made.graph("names", [value])
    items = np.arange(4, dtype=np.float32).reshape(1, 4)

    found = loaded_outputs(*compiled(graph, plain_tools, native_cache), items, 1)

    assert (found == items).all()


def test_a_model_is_a_file_of_its_last_name():
    assert [file_name(name) for name in ("alexnet2", "./my.py:MyNet", "a b")] == [
        "alexnet2",
        "MyNet",
        "a_b",
    ]


@pytest.mark.parametrize("count", [0, 1, 9, 40])
def test_weights_lie_where_their_index_says(count):
    constants = {f"w{i}": np.arange(i + 1, dtype=np.float32) for i in range(count)}
    file = io.BytesIO()

    write_weights(file, constants)

    whole = file.getvalue()
    head, _, _ = whole.partition(b"\n\n")
    for line in head.decode().splitlines()[1:]:
        name, offset, size = line.split()
        assert int(offset) % 64 == 0
        assert np.array_equal(np.frombuffer(whole, "<f4", int(size), int(offset)), constants[name])
    assert head.count(b"\n") == count or count == 0

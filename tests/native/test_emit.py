"""A graph as C++ reads like the network, and its weights file can be read by its index."""

from __future__ import annotations

import io

import msgspec
import numpy as np
import pytest

from assay.errors import UsageError
from assay.native import ops
from assay.native.building import Building
from assay.native.emit import emit, file_name
from assay.native.passes.pipeline import optimized
from assay.native.weightfile import write_weights
from tests.native.test_passes import Making


def small(name="small"):
    """Channels last, as Keras writes it: turned where it comes in, and before it is flattened."""
    made = Building()
    made.add_input("picture", (6, 6, 2))
    turned = made.add("turn", ops.Transpose((2, 0, 1)), "picture")
    kernel = made.constant("conv/kernel", np.ones((4, 2, 3, 3)))
    bias = made.constant("conv/bias", np.zeros(4))
    conv = made.add("conv", ops.Conv(kernel, bias, pads=(1, 1, 1, 1)), turned)
    active = made.add("tanh", ops.Activation("tanh"), conv)
    pooled = made.add("pool", ops.Pool("max", (2, 2), (2, 2)), active)
    flat = made.add("flat", ops.Reshape((36,)), pooled)
    dense = made.add("dense", ops.Dense(made.constant("dense/kernel", np.ones((3, 36)))), flat)
    return optimized(made.graph(name, [made.add("soft", ops.Softmax(0), dense)]))


def test_each_layer_is_a_line():
    found = emit(small())

    body = [line.strip() for line in found.source.splitlines() if line.startswith("    ")]
    assert body == [
        "const Value input = net.input({2, 6, 6});",
        "const Value conv = net.convolution(input, {4, 6, 6}, {3, 3}, "
        '"conv/kernel", "conv/bias").pads(1, 1, 1, 1);',
        "const Value pool = net.max_pool(conv, {4, 3, 3}, {2, 2}).tanh();",
        "const Value flat = net.reshape(pool, {36});",
        'const Value dense = net.dense(flat, {3}, "dense/kernel");',
        "const Value soft = net.softmax(dense, 0);",
        "net.output(soft);",
    ]


def test_an_input_with_channels_last_is_turned_at_the_door():
    found = emit(small())

    assert (found.input_shape, found.channels_last) == ((2, 6, 6), True)


def test_names_that_are_no_names_in_cxx_are_made_so():
    made = Making(2, 4, 4)
    graph = made.graph(made.add(ops.Activation("relu"), made.input))
    graph = msgspec.structs.replace(
        graph, nodes=(msgspec.structs.replace(graph.nodes[0], output="2/for"),), outputs=("2/for",)
    )

    assert "const Value layer_2_for = " in emit(graph).source


def test_a_model_is_a_file_of_its_last_name():
    assert [file_name(name) for name in ("alexnet2", "./my.py:MyNet", "a b")] == [
        "alexnet2",
        "MyNet",
        "a_b",
    ]


def test_two_outputs_are_refused_in_words():
    made = Making(2, 4, 4)
    value = made.add(ops.Activation("relu"), made.input)
    graph = msgspec.structs.replace(made.graph(value), outputs=(value, value))

    with pytest.raises(UsageError, match="1 inputs and 2 outputs"):
        emit(graph)


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

"""A node tells what it came from through every pass, and its layer's kernel can be forced."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from assay.core.errors import AssayError, UsageError
from assay.native import ops, reference
from assay.native.build import build
from assay.native.emit import emit
from assay.native.kernels import find_layer, force_kernels
from assay.native.library import LoadedModel
from assay.native.passes.pipeline import optimize
from tests.native.built import loaded_outputs
from tests.native.making import Making
from tests.native.random_graphs import graphs, inputs_for


def sources(node):
    return [(source.name, source.kind) for source in node.sources]


def block():
    """pad, conv, norm, relu, pool; then a sum of its result with a convolution of it."""
    made = Making(8, 9, 9)
    pad = made.add(ops.PadOp((1, 1, 1, 1)), made.input)
    norm = made.norm(made.conv(pad, 8, 3))
    pooled = made.add(ops.PoolOp("max", (2, 2), (2, 2)), made.add(ops.ActivationOp("relu"), norm))
    summed = made.add(ops.BinaryOp("add"), pooled, made.conv(pooled, 8, 1))
    return made.graph(made.add(ops.ActivationOp("tanh"), summed))


def test_what_is_folded_and_fused_is_kept_as_where_it_came_from():
    conv, pool, last = optimize(block()).nodes

    kinds = [("PadOp0", "pad"), ("ConvOp1", "conv"), ("BatchNormOp2", "batch_norm")]
    assert sources(conv) == [*kinds, ("ActivationOp3", "relu")]
    assert sources(pool) == [("PoolOp4", "max_pool")]
    assert sources(last) == [("ConvOp5", "conv"), ("BinaryOp6", "add"), ("ActivationOp7", "tanh")]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(graphs())
def test_no_layer_loses_its_operation_and_none_is_in_two(graph):
    once = optimize(graph)
    computing = (ops.ConvOp, ops.DenseOp, ops.PoolOp, ops.GlobalPoolOp, ops.SoftmaxOp)
    wanted = {node.name for node in once.nodes if isinstance(node.op, computing)}
    held = [source.name for node in once.nodes for source in node.sources]

    assert wanted <= set(held)
    assert all(held.count(name) == 1 for name in wanted)
    assert [node.sources for node in optimize(once).nodes] == [node.sources for node in once.nodes]


def test_every_value_is_float32_of_scale_1():
    graph = optimize(block())

    assert {(node.dtype, node.scale) for node in graph.nodes} == {("float32", 1.0)}
    assert (graph.inputs[0].dtype, graph.inputs[0].scale) == ("float32", 1.0)


def test_a_layer_is_found_by_its_own_name_or_that_of_what_went_into_it():
    graph = optimize(block())

    assert find_layer(graph, "BatchNormOp2").name == "ConvOp1"
    assert [node.kernel for node in force_kernels(graph, {"BinaryOp6": "direct"}).nodes] == [
        *("", "", "direct")
    ]


@pytest.mark.parametrize(
    ("layer", "kernel", "complaint", "hint"),
    [
        ("ConvOp1", "winograd", "no kernel named 'winograd'", "Did you mean 'winograd-4x3'?"),
        ("ConvOp9", "direct", "no convolution or dense layer named 'ConvOp9'", "'ConvOp5'"),
        ("PoolOp4", "direct", "no convolution or dense layer named 'PoolOp4'", "ConvOp1"),
    ],
)
def test_an_unknown_layer_or_kernel_is_refused(layer, kernel, complaint, hint):
    with pytest.raises(UsageError, match=complaint) as caught:
        force_kernels(optimize(block()), {layer: kernel})
    assert hint in caught.value.hint


@pytest.mark.real("compiler")
@pytest.mark.parametrize("kernel", ["direct", "winograd-4x3", "winograd-2x3"])
def test_a_forced_kernel_computes_its_layer(kernel, plain_tools, native_cache):
    graph = force_kernels(optimize(block()), {"ConvOp1": kernel})
    images = inputs_for(graph, 2)[0]
    emitted = emit(graph)
    built = build(emitted, plain_tools, native_cache)

    engine = LoadedModel(built, emitted, 2, 1, seconds=0)

    assert engine.kernels[0] == kernel
    engine.close()
    wanted = reference.outputs(graph, images, dtype=np.float64)[0]
    found = loaded_outputs(emitted, built, images, 2)
    assert np.abs(found - wanted).max() <= 1e-5 * (1 + np.abs(wanted).max())


@pytest.mark.real("compiler")
def test_a_kernel_that_does_not_fit_its_layer_is_refused_by_the_program(plain_tools, native_cache):
    graph = force_kernels(optimize(block()), {"ConvOp5": "winograd-4x3"})
    emitted = emit(graph)

    with pytest.raises(AssayError, match="cannot be computed by winograd-4x3, but by direct"):
        LoadedModel(build(emitted, plain_tools, native_cache), emitted, 2, 1, seconds=0)


def test_a_dense_layer_of_rows_is_forced_where_it_is_computed():
    made = Making(2, 3, 4)
    graph = made.graph(made.add(ops.DenseOp(made.constant(5, 4)), made.input))

    source = emit(force_kernels(optimize(graph), {"DenseOp0": "direct"})).source

    assert (
        'net.reshape(net.dense(net.reshape(v_input, {6, 4}), {6, 5}, "constant0").kernel(' in source
    )


def test_a_node_without_sources_is_its_own():
    node = block().nodes[1]

    assert [source.name for source in node.origins] == ["ConvOp1"]
    assert msgspec.structs.replace(node, sources=()).origins == node.origins

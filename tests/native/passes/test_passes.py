"""A pass changes what is computed, and no result; the oracle is the judge."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from assay.native import files, ops, reference
from assay.native.passes import batch_norm, fusion, pipeline, transposes
from assay.native.passes.pipeline import PASSES, optimize
from tests.native.making import Making
from tests.native.random_graphs import graphs, inputs_for

EVERY = (*dict.fromkeys(PASSES), fusion.fuse_pools, optimize)
NEAR = 1e-5  # constants are folded in double precision and kept in single


def assert_same_outputs(first, second, inputs):
    before = reference.outputs(first, *inputs, dtype=np.float64)
    after = reference.outputs(second, *inputs, dtype=np.float64)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(other, one, rtol=NEAR, atol=NEAR * max(1, np.abs(one).max()))


def kinds(graph):
    return Counter(type(node.op).__name__.removesuffix("Op") for node in graph.nodes)


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.__name__)
def test_a_pass_leaves_every_output_as_it_was(each):
    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(graphs())
    def holds(graph):
        assert_same_outputs(graph, each(graph), inputs_for(graph))

    holds()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(graphs())
def test_passes_work_on_graphs_that_are_fused_already(graph):
    once = optimize(graph)

    assert_same_outputs(graph, fusion.fuse_pools(optimize(once)), inputs_for(graph))


def test_a_batch_norm_goes_into_the_convolution_before_it():
    made = Making(3, 5, 5)
    graph = made.graph(made.norm(made.conv(made.input, 4, 3)))

    folded = pipeline.eliminate_dead_code(batch_norm.fold_batch_norm(graph))

    assert kinds(folded) == {"Conv": 1}
    assert len(folded.constants) == 2
    assert_same_outputs(graph, folded, inputs_for(graph))


def test_batch_norms_go_into_the_convolution_one_after_the_other():
    made = Making(3, 5, 5)
    graph = made.graph(made.norm(made.norm(made.norm(made.conv(made.input, 4, 3)))))

    folded = pipeline.eliminate_dead_code(batch_norm.fold_batch_norm(graph))

    assert kinds(folded) == {"Conv": 1}
    assert_same_outputs(graph, folded, inputs_for(graph))


def test_a_pass_may_run_over_what_it_has_made():
    """An image that is turned again is turned in the weights again."""
    made = Making(3, 4, 5)
    turned = made.add(ops.TransposeOp((1, 2, 0)), made.input)
    flat = made.add(ops.ReshapeOp((60,)), turned)
    graph = made.graph(made.add(ops.DenseOp(made.constant(2, 60)), flat))
    once = transposes.permute_dense_weights(graph)
    again = msgspec.structs.replace(
        once, inputs=(msgspec.structs.replace(once.inputs[0], layout="channels_last"),)
    )
    images = inputs_for(graph)

    turned_again = transposes.take_channels_first(again)

    (wanted,) = reference.outputs(graph, *images, dtype=np.float64)
    (found,) = reference.outputs(turned_again, images[0].transpose(0, 3, 1, 2), dtype=np.float64)
    np.testing.assert_allclose(found, wanted, rtol=NEAR)


def test_a_batch_norm_stays_where_the_convolution_has_another_reader():
    made = Making(3, 5, 5)
    conv = made.conv(made.input, 3)
    graph = made.graph(made.add(ops.BinaryOp("add"), made.norm(conv), conv))

    assert kinds(batch_norm.fold_batch_norm(graph)) == kinds(graph)


def test_a_batch_norm_goes_into_the_grouped_convolutions_after_it():
    made = Making(4, 5, 5)
    norm = made.norm(made.input)
    first, second = made.conv(norm, 6, 3, groups=2), made.conv(norm, 6, 3)
    graph = made.graph(made.add(ops.BinaryOp("add"), first, second))

    folded = batch_norm.fold_batch_norm_forward(graph)

    assert kinds(folded) == {"Conv": 2, "Binary": 1}
    assert_same_outputs(graph, folded, inputs_for(graph))


def test_a_batch_norm_is_not_folded_into_a_convolution_that_pads_it():
    made = Making(4, 5, 5)
    graph = made.graph(made.conv(made.norm(made.input), 6, 3, pads=(1, 1, 1, 1)))

    assert kinds(batch_norm.fold_batch_norm_forward(graph)) == {"BatchNorm": 1, "Conv": 1}


def test_padding_goes_into_convolutions_and_stays_before_pools():
    made = Making(2, 5, 5)
    padded = made.add(ops.PadOp((1, 0, 2, 3)), made.input)
    pooled = made.add(ops.PoolOp("average", (2, 2), (2, 2)), padded)
    graph = made.graph(made.conv(padded, 3, 3, pads=(1, 1, 1, 1)), pooled)

    folded = pipeline.fold_padding(graph)

    assert [node.op.pads for node in folded.nodes if isinstance(node.op, ops.ConvOp)] == [
        (2, 1, 3, 4)
    ]
    assert kinds(folded)["Pad"] == 1
    assert_same_outputs(graph, folded, inputs_for(graph))


def test_a_residual_block_becomes_two_convolutions():
    made = Making(4, 6, 6)
    inner = made.add(ops.ActivationOp("relu"), made.conv(made.input, 4, 3, pads=(1, 1, 1, 1)))
    outer = made.conv(inner, 4, 3, pads=(1, 1, 1, 1))
    added = made.add(ops.BinaryOp("add"), outer, made.input)
    graph = made.graph(made.add(ops.ActivationOp("relu"), added))

    fused = optimize(graph)

    assert kinds(fused) == {"Conv": 2}
    assert fused.nodes[-1].op.post == (ops.ResidualOp(), ops.ActivationOp("relu"))
    assert fused.nodes[-1].inputs[-1] == "input"
    assert_same_outputs(graph, fused, inputs_for(graph))


def test_a_convolution_takes_one_sum_and_the_second_stays():
    made = Making(4, 6, 6)
    conv = made.conv(made.input, 4)
    once = made.add(ops.BinaryOp("add"), conv, made.input)
    graph = made.graph(made.add(ops.BinaryOp("add"), once, made.input))

    fused = optimize(graph)

    assert kinds(fused) == {"Conv": 1, "Binary": 1}
    assert_same_outputs(graph, fused, inputs_for(graph))


def test_a_sum_with_one_number_for_each_channel_stays():
    made = Making(4, 6, 6)
    mean = made.add(ops.GlobalPoolOp("average"), made.input)
    wide = made.add(ops.ReshapeOp((4, 1, 1)), mean)
    graph = made.graph(made.add(ops.BinaryOp("add"), made.conv(made.input, 4), wide))

    assert kinds(fusion.fuse_residuals(graph)) == kinds(graph)


def test_a_sum_after_pooling_is_not_done_before_it():
    made = Making(4, 6, 6)
    pooled = made.add(ops.PoolOp("max", (2, 2), (2, 2)), made.conv(made.input, 4))
    other = made.add(ops.PoolOp("average", (2, 2), (2, 2)), made.input)
    graph = fusion.fuse_pools(made.graph(made.add(ops.BinaryOp("add"), pooled, other)))

    assert kinds(fusion.fuse_residuals(graph)) == kinds(graph)


def test_a_batch_norm_that_is_added_as_well_is_not_folded_forward():
    made = Making(4, 6, 6)
    norm = made.norm(made.input)
    conv = made.add(ops.ConvOp(made.constant(4, 4, 1, 1), post=(ops.ResidualOp(),)), norm, norm)
    graph = made.graph(conv)

    assert kinds(batch_norm.fold_batch_norm_forward(graph)) == kinds(graph)


def test_a_maximum_is_taken_before_a_dear_activation_that_rises():
    made = Making(3, 6, 6)
    active = made.add(ops.ActivationOp("tanh"), made.conv(made.input, 4))
    graph = made.graph(made.add(ops.PoolOp("max", (2, 2), (2, 2)), active))

    moved = fusion.pool_before_activation(graph)

    assert list(kinds(moved)) == ["Conv", "Pool", "Activation"]
    assert moved.nodes[-1].shape == (4, 3, 3)
    assert_same_outputs(graph, moved, inputs_for(graph))


@pytest.mark.parametrize("kind, activation", [("average", "tanh"), ("max", "silu")])
def test_a_pool_stays_behind_what_does_not_commute_with_it(kind, activation):
    made = Making(3, 6, 6)
    active = made.add(ops.ActivationOp(activation), made.input)
    graph = made.graph(made.add(ops.PoolOp(kind, (2, 2), (2, 2)), active))

    assert fusion.pool_before_activation(graph) == graph


def test_a_pool_after_a_convolution_is_done_with_it():
    made = Making(3, 6, 6)
    active = made.add(ops.ActivationOp("relu"), made.conv(made.input, 4))
    graph = made.graph(made.add(ops.PoolOp("max", (2, 2), (2, 2)), active))

    fused = fusion.fuse_pools(fusion.fuse_activations(graph))

    assert [len(node.op.post) for node in fused.nodes] == [2]
    assert_same_outputs(graph, fused, inputs_for(graph))


def test_a_picture_turned_to_be_flattened_is_not_turned():
    made = Making(3, 4, 5)
    flat = made.add(ops.ReshapeOp((60,)), made.add(ops.TransposeOp((1, 2, 0)), made.input))
    graph = made.graph(made.add(ops.DenseOp(made.constant(7, 60)), flat))

    straight = pipeline.eliminate_dead_code(transposes.permute_dense_weights(graph))

    assert kinds(straight) == {"Reshape": 1, "Dense": 1}
    assert_same_outputs(graph, straight, inputs_for(graph))


def test_turning_there_and_back_is_nothing():
    made = Making(3, 4, 5)
    back = made.add(ops.TransposeOp((2, 0, 1)), made.add(ops.TransposeOp((1, 2, 0)), made.input))
    graph = made.graph(made.add(ops.ActivationOp("relu"), back))

    assert kinds(optimize(graph)) == {"Activation": 1}


def test_turning_there_and_back_for_an_output_keeps_the_output():
    made = Making(3, 4, 5)
    back = made.add(ops.TransposeOp((2, 0, 1)), made.add(ops.TransposeOp((1, 2, 0)), made.input))
    graph = made.graph(back)

    assert_same_outputs(graph, optimize(graph), inputs_for(graph))


def test_dead_nodes_go_with_their_constants():
    made = Making(3, 4, 5)
    made.conv(made.input, 4)
    kept = made.conv(made.input, 5)

    graph = pipeline.eliminate_dead_code(made.graph(kept))

    assert [node.output for node in graph.nodes] == [kept]
    assert len(graph.constants) == 2


def test_optimizing_does_not_change_the_graph_given():
    made = Making(3, 5, 5)
    graph = made.graph(made.norm(made.conv(made.input, 4, 3)))
    before = files.digest(graph)

    optimize(graph)

    assert files.digest(graph) == before

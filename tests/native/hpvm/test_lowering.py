"""Graphs as HPVM has them: leaves, edges and fused lines, or the layer that it has nothing for."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.native import ops
from assay.native.hpvm.lowering import dataflow, layer_names
from tests.native.hpvm.making import residual_net
from tests.native.making import Making


def test_each_layer_is_its_operation_its_bias_and_what_follows():
    flow = dataflow(residual_net())

    ops = "conv add tanh group_conv add batchnorm add relu pool_max pool_mean mul add softmax"
    assert [leaf.op for leaf in flow.leaves] == ops.split()
    by_name = {leaf.name: leaf for leaf in flow.leaves}
    assert by_name["var_0"].numbers == (1, 1, 1, 1)
    assert by_name["var_3"].numbers == (1, 1, 1, 1, 1, 4)
    assert by_name["var_6"].inputs == ("var_5", "var_2")  # the sum around the second convolution
    assert by_name["var_8"].numbers == (2, 2, 0, 0, 2, 2)
    assert by_name["var_5"].numbers == (pytest.approx(1e-3),)


def test_a_dense_layers_weights_are_as_hpvm_multiplies():
    graph = residual_net()
    flow = dataflow(graph)

    (dense,) = (node for node in graph.nodes if isinstance(node.op, ops.DenseOp))
    held = flow.tensors[f"{dense.name}_w"]
    np.testing.assert_array_equal(held, graph.constants[dense.op.weight].T)


def made(*adding):
    making = Making(4, 8, 8)
    value = making.input
    for add in adding:
        value = add(making, value)
    return making.graph(value)


@pytest.mark.parametrize(
    ("layer", "complaint"),
    [
        (lambda m, v: m.add(ops.ActivationOp("gelu"), v), "ActivationOp0' is a activation gelu"),
        (lambda m, v: m.add(ops.ActivationOp("relu", 0.1), v), "ActivationOp0'"),
        (lambda m, v: m.add(ops.UpsampleOp((2, 2)), v), "'UpsampleOp0' is a upsample"),
        (lambda m, v: m.conv(v, 4, 3, pads=(0, 0, 1, 1)), "padded more at one side"),
        (lambda m, v: m.conv(v, 4, 3, dilations=(2, 2)), "a convolution dilated"),
        (lambda m, v: m.add(ops.SoftmaxOp(), v), "a softmax over"),
    ],
)
def test_what_hpvm_has_no_operation_for_is_refused_by_name(layer, complaint):
    with pytest.raises(UsageError, match=complaint) as caught:
        dataflow(made(layer))

    assert caught.value.status == 2


def test_layers_that_keras_named_are_counted_from_1_again():
    making = Making(1, 4, 4)
    weight = making.constant(1, 1, 1, 1)
    value = making.input
    for name in ("conv2d", "conv2d_1", "mine/here", "conv2d_2"):
        value = making.building.add(name, ops.ConvOp(weight), value)

    names = list(layer_names(making.graph(value)).values())

    assert names == ["conv2d_1", "conv2d_2", "mine_here", "conv2d_3"]

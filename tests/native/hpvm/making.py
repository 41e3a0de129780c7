"""A small network with all that HPVM has operations for, and its graph."""

from __future__ import annotations

from assay.native import ops
from assay.native.graph import Graph
from tests.native.making import Making


def residual_net() -> Graph:
    """Two convolutions around a sum, one of them in groups, both pools, a norm, a dense layer."""
    making = Making(4, 8, 8)
    first = making.conv(making.input, 8, 3, pads=(1, 1, 1, 1))
    first = making.add(ops.ActivationOp("tanh"), first)
    body = making.conv(first, 8, 3, pads=(1, 1, 1, 1), groups=4)
    body = making.norm(body)
    total = making.add(ops.BinaryOp("add"), body, first)
    total = making.add(ops.ActivationOp("relu"), total)
    pooled = making.add(ops.PoolOp("max", (2, 2), (2, 2)), total)
    pooled = making.add(ops.PoolOp("average", (2, 2), (2, 2)), pooled)
    flat = making.add(ops.ReshapeOp((32,)), pooled)
    dense = making.add(ops.DenseOp(making.constant(10, 32), making.constant(10)), flat)
    return making.graph(making.add(ops.SoftmaxOp(), dense))

"""Shape inference. Shapes are of one item."""

from __future__ import annotations

from collections.abc import Sequence

from assay.native import ops
from assay.native.operations import definition_of
from assay.native.operations.definition import Constants, Shape, ShapeError, expect
from assay.native.operations.pooling import pool_shape

__all__ = ["ShapeError", "output_shape"]


def output_shape(op: ops.Op, shapes: Sequence[Shape], constants: Constants) -> Shape:
    """Raises ShapeError if the operation does not fit its inputs."""
    shape = definition_of(op).shape(op, shapes, constants)
    for post in getattr(op, "post", ()):
        if isinstance(post, ops.PoolOp):
            shape = pool_shape(post, shape)
        elif isinstance(post, ops.ResidualOp):
            expect(shapes[-1] == shape, f"a residual of {shapes[-1]} is added to {shape}")
    expect(all(size > 0 for size in shape), f"the result {shape} would be empty")
    return shape

"""Definitions of the operations by class. To add one, see docs/design/native.md."""

from __future__ import annotations

from typing import Any

from assay.native.operations import (
    elementwise,
    matmul,
    normalization,
    pooling,
    shape_ops,
    transposed_conv,
)
from assay.native.operations.definition import Definition

TABLE: dict[type, Definition] = {
    **elementwise.TABLE,
    **matmul.TABLE,
    **shape_ops.TABLE,
    **normalization.TABLE,
    **pooling.TABLE,
    **transposed_conv.TABLE,
}


def definition_of(op: Any) -> Definition:
    return TABLE[type(op)]

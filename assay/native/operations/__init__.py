"""Every operation's definition, by its class. To add one, see docs/design/native.md."""

from __future__ import annotations

from typing import Any

from assay.native.operations import (
    elementwise,
    linear,
    moving,
    normalizing,
    pooling,
    transposed,
)
from assay.native.operations.definition import Definition

TABLE: dict[type, Definition] = {
    **elementwise.TABLE,
    **linear.TABLE,
    **moving.TABLE,
    **normalizing.TABLE,
    **pooling.TABLE,
    **transposed.TABLE,
}


def definition(op: Any) -> Definition:  # noqa: ANN401 (an Op)
    return TABLE[type(op)]

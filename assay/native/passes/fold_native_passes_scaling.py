"""Factors and sums for each channel as batch norms, which other passes fold away."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from assay.native.graph import Array, Graph, Node, Shape
from assay.native.ops import BatchNormOp, BinaryOp, ConstantOp
from assay.native.passes.batch_norm import scale_and_shift
from assay.native.passes.rewrite import merge_pairs, rewritten


def norms_of_scales(graph: Graph) -> Graph:
    """`x * a`, `x + b` with known numbers that differ along axis 0 at most."""
    made: dict[str, Array] = {}
    known = {
        node.output: graph.constants[node.op.weight]
        for node in graph.nodes
        if isinstance(node.op, ConstantOp)
    }
    shapes = graph.shapes()
    return rewritten(graph, [_as_norm(node, known, shapes, made) for node in graph.nodes], made)


def _as_norm(
    node: Node, known: dict[str, Array], shapes: dict[str, Shape], made: dict[str, Array]
) -> Node:
    if not isinstance(node.op, BinaryOp) or not any(name in known for name in node.inputs):
        return node
    values, held = node.inputs if node.inputs[1] in known else reversed(node.inputs)
    turned = node.inputs[0] == held
    fits = shapes[values] == node.shape and _by_channel(shapes[held])
    if values in known or not fits or (turned and node.op.kind not in ("add", "multiply")):
        return node
    numbers = known[held].reshape(-1).astype(np.float64)
    ways: dict[str, tuple[Any, Any]] = {
        "multiply": (numbers, 0.0),
        "divide": (1 / numbers if np.all(numbers) else None, 0.0),
        "add": (1.0, numbers),
        "subtract": (1.0, -numbers),
    }
    scale, shift = ways.get(node.op.kind, (None, 0.0))
    if scale is None:
        return node
    op = _norm(node.name, node.shape[0], scale, shift, made)
    op = msgspec.structs.replace(op, post=node.op.post)
    return msgspec.structs.replace(node, op=op, inputs=(values,))


def _by_channel(shape: Shape) -> bool:
    return all(size == 1 for size in shape[1:])


def _norm(
    name: str, size: int, scale: Array | float, shift: Array | float, made: dict[str, Array]
) -> BatchNormOp:
    parts = {"mean": 0.0, "variance": 1.0, "gamma": scale, "beta": shift}
    named = {part: f"{name}/norm_{part}" for part in parts}
    for part, numbers in parts.items():
        made[named[part]] = np.broadcast_to(np.asarray(numbers, np.float32), (size,)).copy()
    return BatchNormOp(**named, epsilon=0.0)  # type: ignore[arg-type]


def join_norms(graph: Graph) -> Graph:
    """A batch norm of a batch norm is one."""
    made: dict[str, Array] = {}

    def merge(before: Node, node: Node) -> Node | None:
        first, second = before.op, node.op
        if not isinstance(first, BatchNormOp) or not isinstance(second, BatchNormOp) or first.post:
            return None
        held = {**graph.constants, **made}
        (a, b), (c, d) = scale_and_shift(first, held), scale_and_shift(second, held)
        op = _norm(node.output, node.shape[0], a * c, b * c + d, made)
        op = msgspec.structs.replace(op, post=second.post)
        return msgspec.structs.replace(node, op=op, inputs=before.inputs)

    return merge_pairs(graph, merge, made)

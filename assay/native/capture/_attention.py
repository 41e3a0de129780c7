"""Rows of numbers that are looked up or look each other up: embeddings and attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from keras import layers

from assay.native import ops
from assay.native.capture import unsupported
from assay.native.capture._arguments import LARGEST, Given, numbers
from assay.native.capture._layers import Handler, array
from assay.native.graph import Array
from assay.native.graph_builder import Building, Tensor

CLOSED = np.float32(-0.7 * np.finfo(np.float32).max)  # what Keras on JAX gives a closed score


def _embedding(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    if layer.mask_zero:
        raise unsupported("an Embedding with mask_zero", name, ("one without",))
    return looked_up(building, array(layer.embeddings), given[0], name)


def looked_up(building: Building, table: Array, rows: Tensor, name: str) -> Tensor:
    if rows.value not in building.whole:
        raise unsupported("a look-up by what is no whole number", name, ("an integer input",))
    if len(table) > LARGEST:
        raise unsupported(f"a look-up in {len(table)} rows", name, (f"at most {LARGEST}",))
    weight = building.constant(f"{name}/embeddings", table)
    made = building.add(name, ops.EmbeddingOp(weight), building.laid(rows))
    return Tensor(made, tuple(range(len(building.shapes[made]))))


def _attention(
    building: Building,
    layer: Any,
    given: list[Tensor],
    name: str,
    use_causal_mask: bool = False,
) -> Tensor:
    values = [building.laid(tensor) for tensor in given]
    query, value, key = values if len(values) == 3 else (*values, values[-1])
    gated = layer.get_config().get("use_gate")
    if any(len(building.shapes[each]) != 2 for each in values) or gated:
        raise unsupported("a MultiHeadAttention over other axes", name, ("rows of numbers",))
    # Keras multiplies the query by this; its weights are as good a place.
    share = 1 / math.sqrt(layer.key_dim)
    q = _heads(building, layer.query_dense, query, f"{name}/query", share)
    k = _heads(building, layer.key_dense, key, f"{name}/key")
    v = _heads(building, layer.value_dense, value, f"{name}/value")
    rows = _mixed(building, (q, k, v), _mask(building, q, k, use_causal_mask), name)
    _, count, heads, size = building.shapes[rows]
    flat = building.add(f"{name}/rows", ops.ReshapeOp((count, heads * size)), rows)
    output = layer.output_dense
    kernel = array(output.kernel).reshape(heads * size, -1)
    made = _dense(building, kernel, array(output.bias) if layer.use_bias else None, flat, name)
    return Tensor(made, (0, 1))


def dot_product(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    """Of (length, heads, depth) each; a mask has to be known."""
    q, k, v, bias, mask, scale = given
    if bias is not None or operation.flash_attention or operation.attn_logits_soft_cap is not None:
        raise unsupported("attention with a bias, flash or a cap", name, ("mask=, scale=",))
    if isinstance(mask, Tensor) or isinstance(scale, Tensor):
        raise unsupported("attention with a computed mask or scale", name, ("known ones",))
    values = [building.laid(tensor) for tensor in (q, k, v)]
    (_, heads, depth), *others = (building.shapes[value] for value in values)
    if any(shape[1:] != (heads, depth) for shape in others):
        raise unsupported("attention of other heads than its queries", name, ("as many heads",))
    share = np.float32(1 / math.sqrt(depth) if scale is None else scale)
    by = building.fixed(f"{name}/scale", share, (0, 1, 2))
    values[0] = building.add(f"{name}/query", ops.BinaryOp("multiply"), values[0], by)
    query, key, value = (
        building.add(f"{name}/{part}/one", ops.ReshapeOp((1, *building.shapes[value])), value)
        for part, value in zip(("query", "key", "value"), values, strict=True)
    )
    closed = _mask(building, query, key, operation.is_causal, mask, name)
    rows = _mixed(building, (query, key, value), closed, name)
    made = building.add(name, ops.ReshapeOp(building.shapes[rows][1:]), rows)
    return [Tensor(made, (0, 1, 2))]


def _mixed(building: Building, values: tuple[str, str, str], mask: Array | None, name: str) -> str:
    """Rows by heads, as values of four axes, of which the first has size 1."""
    orders = {"query": (0, 2, 1, 3), "key": (0, 2, 3, 1), "value": (0, 2, 1, 3)}
    q, k, v = (
        building.add(f"{name}/{part}/turned", ops.TransposeOp(order), value)
        for (part, order), value in zip(orders.items(), values, strict=True)
    )
    scores = building.add(f"{name}/scores", ops.MatMulOp(), q, k)
    if mask is not None:
        held = building.fixed(f"{name}/mask", mask, (0, 1, 2, 3))
        scores = building.add(f"{name}/masked", ops.BinaryOp("mask"), scores, held)
    shares = building.add(f"{name}/shares", ops.SoftmaxOp(3), scores)
    mixed = building.add(f"{name}/mixed", ops.MatMulOp(), shares, v)
    return building.add(f"{name}/by_row", ops.TransposeOp((0, 2, 1, 3)), mixed)


def _mask(
    building: Building,
    q: str,
    k: str,
    causal: bool,
    mask: Any = None,
    name: str = "",
) -> Array | None:
    """What takes the place of scores that may not be seen; no number where one may."""
    sizes = building.shapes[q][1], building.shapes[k][1]
    if mask is None and not causal:
        return None
    seen = np.tri(*sizes, dtype=bool)[None, None] if causal else np.ones((1, 1, *sizes), bool)
    if mask is not None:
        told = numbers(mask) != 0
        if told.ndim != 4 or len(told) != 1:
            raise unsupported(f"attention with a mask of {told.shape}", name, ("(1, …)",))
        seen = seen & told
    return np.where(seen, np.float32(np.nan), CLOSED)


def _heads(
    building: Building,
    layer: Any,
    value: str,
    name: str,
    factor: float = 1.0,
) -> str:
    kernel = array(layer.kernel).astype(np.float64)
    size, heads, each = kernel.shape
    bias = None if layer.bias is None else array(layer.bias).reshape(-1) * factor
    made = _dense(building, kernel.reshape(size, heads * each) * factor, bias, value, name)
    split = (1, building.shapes[made][0], heads, each)
    return building.add(f"{name}/heads", ops.ReshapeOp(split), made)


def _dense(building: Building, kernel: Array, bias: Array | None, value: str, name: str) -> str:
    weight = building.constant(f"{name}/kernel", kernel.T)
    held = "" if bias is None else building.constant(f"{name}/bias", bias)
    return building.add(name, ops.DenseOp(weight, held), value)


HANDLERS: dict[type, Handler] = {
    layers.Embedding: _embedding,
    layers.MultiHeadAttention: _attention,
}

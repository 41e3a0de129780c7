"""Capture embedding and attention layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from keras import layers

from assay.native import ops
from assay.native.capture import unsupported
from assay.native.capture._arguments import MAX_EXACT_INTEGER, Arg, numbers
from assay.native.capture._layers import Handler, array
from assay.native.graph import Array
from assay.native.graph_builder import GraphBuilder, Tensor

CLOSED = np.float32(-0.7 * np.finfo(np.float32).max)  # score of masked positions in Keras on JAX


def _embedding(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    if layer.mask_zero:
        raise unsupported("an Embedding with mask_zero", name, ("one without",))
    return embed(builder, array(layer.embeddings), inputs[0], name)


def embed(builder: GraphBuilder, table: Array, rows: Tensor, name: str) -> Tensor:
    if rows.value not in builder.integers:
        raise unsupported("a look-up by a value that is no integer", name, ("an integer input",))
    if len(table) > MAX_EXACT_INTEGER:
        raise unsupported(
            f"a look-up in {len(table)} rows", name, (f"at most {MAX_EXACT_INTEGER}",)
        )
    weight = builder.constant(f"{name}/embeddings", table)
    output = builder.add(name, ops.EmbeddingOp(weight), builder.reorder(rows))
    return Tensor(output, tuple(range(len(builder.shapes[output]))))


def _attention(
    builder: GraphBuilder,
    layer: Any,
    inputs: list[Tensor],
    name: str,
    use_causal_mask: bool = False,
) -> Tensor:
    values = [builder.reorder(tensor) for tensor in inputs]
    query, value, key = values if len(values) == 3 else (*values, values[-1])
    gated = layer.get_config().get("use_gate")
    if any(len(builder.shapes[value_name]) != 2 for value_name in values) or gated:
        raise unsupported("a MultiHeadAttention over other axes", name, ("rows of numbers",))
    # Keras multiplies the query by this; here it is folded into the weights.
    share = 1 / math.sqrt(layer.key_dim)
    q = _heads(builder, layer.query_dense, query, f"{name}/query", share)
    k = _heads(builder, layer.key_dense, key, f"{name}/key")
    v = _heads(builder, layer.value_dense, value, f"{name}/value")
    rows = _add_attention(builder, (q, k, v), _mask(builder, q, k, use_causal_mask), name)
    _, count, heads, size = builder.shapes[rows]
    flat = builder.add(f"{name}/rows", ops.ReshapeOp((count, heads * size)), rows)
    last = layer.output_dense
    kernel = array(last.kernel).reshape(heads * size, -1)
    output = _dense(builder, kernel, array(last.bias) if layer.use_bias else None, flat, name)
    return Tensor(output, (0, 1))


def dot_product(
    builder: GraphBuilder, operation: Any, inputs: list[Arg], name: str
) -> list[Tensor]:
    """Scaled dot-product attention of (length, heads, depth) each; the mask must be a constant."""
    q, k, v, bias, mask, scale = inputs
    if bias is not None or operation.flash_attention or operation.attn_logits_soft_cap is not None:
        raise unsupported("attention with a bias, flash or a cap", name, ("mask=, scale=",))
    if isinstance(mask, Tensor) or isinstance(scale, Tensor):
        raise unsupported("attention with a computed mask or scale", name, ("constants",))
    values = [builder.reorder(tensor) for tensor in (q, k, v)]
    (_, heads, depth), *others = (builder.shapes[value] for value in values)
    if any(shape[1:] != (heads, depth) for shape in others):
        raise unsupported("attention of other heads than its queries", name, ("as many heads",))
    factor = np.float32(1 / math.sqrt(depth) if scale is None else scale)
    constant = builder.add_constant(f"{name}/scale", factor, (0, 1, 2))
    values[0] = builder.add(f"{name}/query", ops.BinaryOp("multiply"), values[0], constant)
    query, key, value = (
        builder.add(f"{name}/{part}/one", ops.ReshapeOp((1, *builder.shapes[value])), value)
        for part, value in zip(("query", "key", "value"), values, strict=True)
    )
    mask_array = _mask(builder, query, key, operation.is_causal, mask, name)
    rows = _add_attention(builder, (query, key, value), mask_array, name)
    output = builder.add(name, ops.ReshapeOp(builder.shapes[rows][1:]), rows)
    return [Tensor(output, (0, 1, 2))]


def _add_attention(
    builder: GraphBuilder, values: tuple[str, str, str], mask: Array | None, name: str
) -> str:
    """Attention of values of four axes (1, length, heads, depth)."""
    orders = {"query": (0, 2, 1, 3), "key": (0, 2, 3, 1), "value": (0, 2, 1, 3)}
    q, k, v = (
        builder.add(f"{name}/{part}/turned", ops.TransposeOp(order), value)
        for (part, order), value in zip(orders.items(), values, strict=True)
    )
    scores = builder.add(f"{name}/scores", ops.MatMulOp(), q, k)
    if mask is not None:
        constant = builder.add_constant(f"{name}/mask", mask, (0, 1, 2, 3))
        scores = builder.add(f"{name}/masked", ops.BinaryOp("mask"), scores, constant)
    shares = builder.add(f"{name}/shares", ops.SoftmaxOp(3), scores)
    output = builder.add(f"{name}/mixed", ops.MatMulOp(), shares, v)
    return builder.add(f"{name}/by_row", ops.TransposeOp((0, 2, 1, 3)), output)


def _mask(
    builder: GraphBuilder, q: str, k: str, causal: bool, mask: Any = None, name: str = ""
) -> Array | None:
    """Replacement of masked scores; NaN where a score is kept."""
    sizes = builder.shapes[q][1], builder.shapes[k][1]
    if mask is None and not causal:
        return None
    visible = np.tri(*sizes, dtype=bool)[None, None] if causal else np.ones((1, 1, *sizes), bool)
    if mask is not None:
        allowed = numbers(mask) != 0
        if allowed.ndim != 4 or len(allowed) != 1:
            raise unsupported(f"attention with a mask of {allowed.shape}", name, ("(1, …)",))
        visible = visible & allowed
    return np.where(visible, np.float32(np.nan), CLOSED)


def _heads(builder: GraphBuilder, layer: Any, value: str, name: str, factor: float = 1.0) -> str:
    kernel = array(layer.kernel).astype(np.float64)
    size, heads, depth = kernel.shape
    bias = None if layer.bias is None else array(layer.bias).reshape(-1) * factor
    output = _dense(builder, kernel.reshape(size, heads * depth) * factor, bias, value, name)
    shape = (1, builder.shapes[output][0], heads, depth)
    return builder.add(f"{name}/heads", ops.ReshapeOp(shape), output)


def _dense(builder: GraphBuilder, kernel: Array, bias: Array | None, value: str, name: str) -> str:
    weight = builder.constant(f"{name}/kernel", kernel.T)
    bias_name = "" if bias is None else builder.constant(f"{name}/bias", bias)
    return builder.add(name, ops.DenseOp(weight, bias_name), value)


HANDLERS: dict[type, Handler] = {
    layers.Embedding: _embedding,
    layers.MultiHeadAttention: _attention,
}

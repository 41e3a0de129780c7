"""Rows of numbers that look each other up: embeddings and attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from keras import layers

from assay.native import ops
from assay.native.capture import unsupported
from assay.native.capture._layers import Handler, array
from assay.native.capture.graph_builder import Building, Tensor
from assay.native.graph import Array


def _embedding(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:  # noqa: ANN401
    value = given[0].value
    if layer.mask_zero:
        raise unsupported("an Embedding with mask_zero", name, ("one without",))
    if value not in {each.name for each in building.inputs if each.dtype == "int32"}:
        raise unsupported("an Embedding of what is computed", name, ("an integer input",))
    weight = building.constant(f"{name}/embeddings", array(layer.embeddings))
    made = building.add(name, ops.EmbeddingOp(weight), value)
    return Tensor(made, tuple(range(len(building.shapes[made]))))


def _attention(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:  # noqa: ANN401
    """Rows by heads, as values of four axes, of which the first has size 1."""
    values = [building.laid(tensor) for tensor in given]
    query, value, key = values if len(values) == 3 else (*values, values[-1])
    gated = layer.get_config().get("use_gate")
    if any(len(building.shapes[each]) != 2 for each in values) or gated:
        raise unsupported("a MultiHeadAttention over other axes", name, ("rows of numbers",))
    # Keras multiplies the query by this; its weights are as good a place.
    share = 1 / math.sqrt(layer.key_dim)
    q = _heads(building, layer.query_dense, query, f"{name}/query", (0, 2, 1, 3), share)
    k = _heads(building, layer.key_dense, key, f"{name}/key", (0, 2, 3, 1))
    v = _heads(building, layer.value_dense, value, f"{name}/value", (0, 2, 1, 3))
    scores = building.add(f"{name}/scores", ops.MatMulOp(), q, k)
    shares = building.add(f"{name}/shares", ops.SoftmaxOp(3), scores)
    mixed = building.add(f"{name}/mixed", ops.MatMulOp(), shares, v)
    rows = building.add(f"{name}/by_row", ops.TransposeOp((0, 2, 1, 3)), mixed)
    _, count, heads, size = building.shapes[rows]
    flat = building.add(f"{name}/rows", ops.ReshapeOp((count, heads * size)), rows)
    output = layer.output_dense
    kernel = array(output.kernel).reshape(heads * size, -1)
    made = _dense(building, kernel, array(output.bias) if layer.use_bias else None, flat, name)
    return Tensor(made, (0, 1))


def _heads(
    building: Building,
    layer: Any,  # noqa: ANN401 (an EinsumDense of attention's own)
    value: str,
    name: str,
    order: tuple[int, ...],
    factor: float = 1.0,
) -> str:
    kernel = array(layer.kernel).astype(np.float64)
    size, heads, each = kernel.shape
    bias = None if layer.bias is None else array(layer.bias).reshape(-1) * factor
    made = _dense(building, kernel.reshape(size, heads * each) * factor, bias, value, name)
    split = (1, building.shapes[made][0], heads, each)
    apart = building.add(f"{name}/heads", ops.ReshapeOp(split), made)
    return building.add(f"{name}/turned", ops.TransposeOp(order), apart)


def _dense(building: Building, kernel: Array, bias: Array | None, value: str, name: str) -> str:
    weight = building.constant(f"{name}/kernel", kernel.T)
    held = "" if bias is None else building.constant(f"{name}/bias", bias)
    return building.add(name, ops.DenseOp(weight, held), value)


HANDLERS: dict[type, Handler] = {
    layers.Embedding: _embedding,
    layers.MultiHeadAttention: _attention,
}

"""Nodes on known values that have no fold of their own, computed by the numpy reference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.native import reference
from assay.native.graph import Array
from assay.native.onnx.constant_folding import has_batch
from assay.native.onnx.integers import operand
from assay.native.onnx.model import DTYPES, OnnxModel, OnnxOp
from assay.native.onnx.read import Importing, refusal


def evaluate(
    model: Importing, node: OnnxOp, add: Callable[[Importing, OnnxOp], None]
) -> dict[str, Array]:
    """The node's outputs, as if its first input was computed; `add` adds it to a graph."""
    names = [name for name in node.inputs if name]
    for name in names:
        values, integers = model.known[name], operand(model, name)
        if has_batch(values):
            raise refusal(node, f"its input '{name}' is computed from the size of the batch")
        if not (integers.exact if integers else values.dtype == np.float32):
            raise refusal(node, f"its known input '{name}' of {values.dtype} exceeds float32")
    if not names or 0 in model.known[names[0]].shape:
        raise refusal(node, "it is not supported without computed inputs")
    empty = OnnxModel(name="", opset=node.opset, nodes=(), weights={}, inputs=(), outputs=())
    inner = Importing(empty, {}, batched=False)
    inner.used = model.used
    inner.known = {name: model.known[name] for name in names[1:]}
    inner.known.pop(names[0], None)
    first = model.known[names[0]]
    inner.values[names[0]] = inner.building.add_input(names[0], first.shape).value
    if integers := operand(model, names[0]):
        inner.integers[names[0]] = integers
    add(inner, node)
    outputs = [name for name in node.outputs if name in inner.values]
    graph = inner.building.graph("known", [inner.values[name] for name in outputs])
    with np.errstate(all="ignore"):
        arrays = reference.outputs(graph, first[None], dtype=np.float64)
    kinds = (inner.integers.get(name) for name in outputs)
    dtypes = [np.dtype(DTYPES[kind.type]) if kind else np.dtype(np.float32) for kind in kinds]
    return {
        name: array[0].astype(dtype)
        for name, array, dtype in zip(outputs, arrays, dtypes, strict=True)
    }

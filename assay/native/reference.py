"""Reference implementation: computes a graph in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.core.errors import UsageError
from assay.native import ops
from assay.native.activations import apply_activation
from assay.native.graph import Array, Graph, Node
from assay.native.operations import definition_of
from assay.native.operations.pooling import apply_pool


def outputs(graph: Graph, *inputs: Array, dtype: Any = np.float32) -> tuple[Array, ...]:
    """The graph's outputs for a batch of each input, computed in `dtype`."""
    values = compute_values(graph, *inputs, dtype=dtype)
    return tuple(values[name] for name in graph.outputs)


def compute_values(graph: Graph, *inputs: Array, dtype: Any = np.float32) -> dict[str, Array]:
    """Every value of the graph by name; axis 0 is the batch."""
    _check_inputs(graph, inputs)
    constants = {name: array.astype(dtype) for name, array in graph.constants.items()}
    pairs = zip(graph.inputs, inputs, strict=True)
    values = {value.name: array.astype(dtype) for value, array in pairs}
    for node in graph.nodes:
        result = compute_node(node, [values[name] for name in node.inputs], constants)
        result = fake_quantize(node, result) if node.dtype == "uint8" else result
        # Constant values have a batch of one.
        values[node.output] = np.broadcast_to(result, (len(inputs[0]), *node.shape))
    return values


def fake_quantize(node: Node, values: Array) -> Array:
    """Round to the values that bytes can represent."""
    scale = np.float32(node.scale)
    with np.errstate(invalid="ignore"):
        # As the runtime: in float32, times the inverse, by a fused multiply-add.
        wide = values.astype(np.float32).astype(np.float64) * np.float64(np.float32(1) / scale)
        steps = np.rint((wide + node.zero).astype(np.float32))
    steps_from_zero = (np.nan_to_num(np.clip(steps, 0, 255)) - node.zero).astype(values.dtype)
    result: Array = steps_from_zero * values.dtype.type(scale)
    return result


def _check_inputs(graph: Graph, inputs: Sequence[Array]) -> None:
    expected = [value.shape for value in graph.inputs]
    received = [array.shape[1:] for array in inputs]
    if received != expected:
        raise UsageError(
            f"{graph.name} takes items of {_join_shapes(expected)}, "
            f"but received {_join_shapes(received)}.",
            hint="The first axis of each input is the batch.",
        )


def _join_shapes(shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(map(str, shapes)) or "nothing"


def compute_node(node: Node, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    """The result of one node, with its fused posts."""
    result = definition_of(node.op).compute(node.op, inputs, constants)
    for post in getattr(node.op, "post", ()):
        if isinstance(post, ops.ResidualOp):
            result = result + inputs[-1]
        elif isinstance(post, ops.ActivationOp):
            result = apply_activation(post, result)
        else:
            result = apply_pool(post, result)
    return result

"""A graph computed by numpy: plain, slow and right, so that everything else has a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.core.errors import UsageError
from assay.native import ops
from assay.native.activations import activated
from assay.native.graph import Array, Graph, Node
from assay.native.operations import definition_of
from assay.native.operations.pooling import pooled


def outputs(graph: Graph, *inputs: Array, dtype: Any = np.float32) -> tuple[Array, ...]:
    """The graph's outputs for a batch of each input; computed in `dtype` from end to end."""
    values = computed(graph, *inputs, dtype=dtype)
    return tuple(values[name] for name in graph.outputs)


def computed(graph: Graph, *inputs: Array, dtype: Any = np.float32) -> dict[str, Array]:
    """Every value of the graph by name; each has the batch as its first axis."""
    _check_inputs(graph, inputs)
    constants = {name: array.astype(dtype) for name, array in graph.constants.items()}
    given = zip(graph.inputs, inputs, strict=True)
    values = {value.name: array.astype(dtype) for value, array in given}
    for node in graph.nodes:
        found = result_of(node, [values[name] for name in node.inputs], constants)
        found = as_kept(node, found) if node.dtype == "uint8" else found
        # What depends on no input is the same for every item.
        values[node.output] = np.broadcast_to(found, (len(inputs[0]), *node.shape))
    return values


def as_kept(node: Node, values: Array) -> Array:
    """The numbers that are left when they are kept as bytes."""
    scale = np.float32(node.scale)
    with np.errstate(invalid="ignore"):
        # As the runtime rounds it: in float32, by the inverse, in one instruction.
        wide = values.astype(np.float32).astype(np.float64) * np.float64(np.float32(1) / scale)
        steps = np.rint((wide + node.zero).astype(np.float32))
    whole = (np.nan_to_num(np.clip(steps, 0, 255)) - node.zero).astype(values.dtype)
    found: Array = whole * values.dtype.type(scale)
    return found


def _check_inputs(graph: Graph, inputs: Sequence[Array]) -> None:
    wanted = [value.shape for value in graph.inputs]
    received = [array.shape[1:] for array in inputs]
    if received != wanted:
        raise UsageError(
            f"{graph.name} takes items of {_listed(wanted)}, but received {_listed(received)}.",
            hint="The first axis of each input is the batch.",
        )


def _listed(shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(map(str, shapes)) or "nothing"


def result_of(node: Node, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    """One node, with what is done after its operation."""
    result = definition_of(node.op).compute(node.op, inputs, constants)
    for post in getattr(node.op, "post", ()):
        if isinstance(post, ops.ResidualOp):
            result = result + inputs[-1]
        elif isinstance(post, ops.ActivationOp):
            result = activated(post, result)
        else:
            result = pooled(post, result)
    return result

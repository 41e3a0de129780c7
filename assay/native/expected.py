"""Sample inputs and their reference outputs, which a built program is compared with."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from assay.native import reference
from assay.native.graph import Array, Graph, Value
from assay.native.ops import EmbeddingOp

ITEMS = 4
SEED = 0


class ReferenceOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """In the graph's order of inputs and outputs; axis 0 is the batch."""

    judge: str  # what computed the outputs
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def sample_items(graph: Graph) -> tuple[Array, ...]:
    """The same in every process."""
    random = np.random.default_rng(SEED)
    return tuple(_items(random, graph, value) for value in graph.inputs)


def _items(random: np.random.Generator, graph: Graph, value: Value) -> Array:
    """Random values; integers are valid rows of every embedding that reads them."""
    shape = (ITEMS, *value.shape)
    if value.dtype == "float32":
        return random.normal(size=shape).astype(np.float32)
    tables = [
        len(graph.constants[node.op.weight])
        for node in graph.nodes
        if isinstance(node.op, EmbeddingOp) and node.input == value.name
    ]
    return random.integers(0, min(tables, default=2), shape).astype(np.int32)


def sample_reference(graph: Graph) -> ReferenceOutputs:
    """Reference outputs of a graph whose model is not available."""
    return compute_reference(graph, sample_items(graph))


def compute_reference(graph: Graph, items: tuple[Array, ...]) -> ReferenceOutputs:
    """Reference outputs of a graph that differs from its model, for example by knobs."""
    outputs = reference.outputs(graph, *items, dtype=np.float64)
    return ReferenceOutputs(judge="the numpy reference", inputs=items, outputs=outputs)


def write(expected: ReferenceOutputs, path: Path) -> None:
    arrays = {f"input{n}": array for n, array in enumerate(expected.inputs)}
    arrays |= {f"output{n}": array for n, array in enumerate(expected.outputs)}
    np.savez(path, judge=expected.judge, **arrays)  # type: ignore[arg-type]


def read(path: Path) -> ReferenceOutputs:
    with np.load(path, allow_pickle=False) as file:
        inputs = sorted(name for name in file.files if name.startswith("input"))
        outputs = sorted(name for name in file.files if name.startswith("output"))
        return ReferenceOutputs(
            judge=str(file["judge"]),
            inputs=tuple(file[f"input{n}"] for n in range(len(inputs))),
            outputs=tuple(file[f"output{n}"] for n in range(len(outputs))),
        )

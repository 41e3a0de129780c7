"""Some items and what the framework itself makes of them: the judge of all that is built."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from assay.native import reference
from assay.native.graph import Array, Graph, Value
from assay.native.ops import EmbeddingOp

ITEMS = 4
SEED = 0


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """In the order of the graph's inputs and outputs, each with the batch as its first axis."""

    judge: str  # who computed the outputs, in words
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def items_for(graph: Graph) -> tuple[Array, ...]:
    """The same in every process."""
    random = np.random.default_rng(SEED)
    return tuple(_items(random, graph, value) for value in graph.inputs)


def _items(random: np.random.Generator, graph: Graph, value: Value) -> Array:
    """Whole numbers are rows of every table that they are looked up in."""
    shape = (ITEMS, *value.shape)
    if value.dtype == "float32":
        return random.normal(size=shape).astype(np.float32)
    tables = [
        len(graph.constants[node.op.weight])
        for node in graph.nodes
        if isinstance(node.op, EmbeddingOp) and node.input == value.name
    ]
    return random.integers(0, min(tables, default=2), shape).astype(np.int32)


def by_reference(graph: Graph) -> Answers:
    """For a graph whose model is not at hand."""
    return answers_of(graph, items_for(graph))


def answers_of(graph: Graph, items: tuple[Array, ...]) -> Answers:
    """For a graph that computes something else than its model, as one with knobs does."""
    outputs = reference.outputs(graph, *items, dtype=np.float64)
    return Answers(judge="the numpy reference", inputs=items, outputs=outputs)


def write(answers: Answers, path: Path) -> None:
    arrays = {f"input{n}": array for n, array in enumerate(answers.inputs)}
    arrays |= {f"output{n}": array for n, array in enumerate(answers.outputs)}
    np.savez(path, judge=answers.judge, **arrays)  # type: ignore[arg-type]


def read(path: Path) -> Answers:
    with np.load(path, allow_pickle=False) as file:
        inputs = sorted(name for name in file.files if name.startswith("input"))
        outputs = sorted(name for name in file.files if name.startswith("output"))
        return Answers(
            judge=str(file["judge"]),
            inputs=tuple(file[f"input{n}"] for n in range(len(inputs))),
            outputs=tuple(file[f"output{n}"] for n in range(len(outputs))),
        )

"""Sample inputs and their reference outputs, which a built program is compared with.

The first items are normally distributed. The others are those that a naive program gets wrong:
large, tiny, negative, equal and far apart; integers at their limits; NaN and infinity where the
operations of the graph define what becomes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import numpy as np

from assay.native import ops, reference
from assay.native.graph import Array, Graph, Node, Shape, Value

ITEMS = 4  # normally distributed ones, which come first
SEED = 0
Limits = Mapping[str, tuple[int, int]]  # smallest and largest integer of an input, by its name


class ReferenceOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """In the graph's order of inputs and outputs; axis 0 is the batch."""

    judge: str  # what computed the outputs
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]

    def first(self) -> ReferenceOutputs:
        """Of the normally distributed items only."""
        inputs, outputs = (
            tuple(a[:ITEMS] for a in arrays) for arrays in (self.inputs, self.outputs)
        )
        return ReferenceOutputs(judge=self.judge, inputs=inputs, outputs=outputs)


Draw = Callable[[np.random.Generator, Shape], Array]
FINITE: dict[str, Draw] = {
    "large": lambda random, shape: random.normal(size=shape) * 1e4,
    "tiny": lambda random, shape: random.normal(size=shape) * 1e-20,
    "negative": lambda random, shape: -3 * np.abs(random.normal(size=shape)),
    "equal": lambda random, shape: np.full(shape, 0.75),
    "zero": lambda random, shape: np.zeros(shape),
    "far apart": lambda random, shape: random.choice([0, 3, 10, -20, 50, 110, 150, -300], shape),
}


def _with_one(number: float) -> Draw:
    def draw(random: np.random.Generator, shape: Shape) -> Array:
        values = np.asarray(random.normal(size=shape))
        values.flat[values.size // 2] = number
        return values

    return draw


NONFINITE: dict[str, Draw] = {"NaN": _with_one(np.nan), "infinite": _with_one(-np.inf)}


def sample_items(graph: Graph, limits: Limits | None = None) -> tuple[Array, ...]:
    """The same in every process; `limits` of integers that are no indices, else they are 0 or 1."""
    random = np.random.default_rng(SEED)
    first = [_items(random, graph, value) for value in graph.inputs]
    draws = FINITE | (NONFINITE if defines_nonfinite(graph) else {})
    return tuple(
        np.concatenate([batch, *(_hard(graph, value, draw, limits) for draw in draws.values())])
        for batch, value in zip(first, graph.inputs, strict=True)
    )


def _items(random: np.random.Generator, graph: Graph, value: Value) -> Array:
    """Random values; integers are valid rows of every embedding that reads them."""
    shape = (ITEMS, *value.shape)
    if value.dtype == "float32":
        return random.normal(size=shape).astype(np.float32)
    tables = [len(graph.constants[op.weight]) for op in _embeddings(graph, value)]
    return random.integers(0, min(tables, default=2), shape).astype(np.int32)


def _hard(graph: Graph, value: Value, draw: Draw, limits: Limits | None) -> Array:
    random = np.random.default_rng([SEED, 1])
    shape = (1, *value.shape)
    if value.dtype == "float32":
        return np.asarray(draw(random, shape), np.float32)
    return random.choice(_extremes(graph, value, limits or {}), shape).astype(np.int32)


def _extremes(graph: Graph, value: Value, limits: Limits) -> list[int]:
    """Of an index the first and last rows, also counted from the end if that is its meaning."""
    tables = _embeddings(graph, value)
    if tables:
        rows = min(len(graph.constants[op.weight]) for op in tables)
        from_end = [-1, -rows] if all(op.checked for op in tables) and value.name in limits else []
        return [0, rows - 1, *from_end]
    low, high = limits.get(value.name, (0, 1))
    return sorted({low, high, *(n for n in (-1, 0, 1) if low <= n <= high)})


def _embeddings(graph: Graph, value: Value) -> list[ops.EmbeddingOp]:
    return [
        node.op
        for node in graph.nodes
        if isinstance(node.op, ops.EmbeddingOp) and node.input == value.name
    ]


def defines_nonfinite(graph: Graph) -> bool:
    """Whether arithmetic alone decides what becomes of NaN and infinity, whatever the kernel."""
    return all(map(_defines_nonfinite, graph.nodes))


def _defines_nonfinite(node: Node) -> bool:
    """Not of the largest of several numbers, and of no product that a kernel computes by sums
    across pixels or items, as those of Winograd and Strassen."""
    if isinstance(node.op, ops.ReduceOp):
        return node.op.kind in ("sum", "mean")
    return isinstance(
        node.op,
        ops.BinaryOp
        | ops.ActivationOp
        | ops.ReshapeOp
        | ops.TransposeOp
        | ops.SliceOp
        | ops.ConcatenateOp
        | ops.PadOp
        | ops.MatMulOp
        | ops.SoftmaxOp
        | ops.ConstantOp,
    )


def sample_reference(graph: Graph) -> ReferenceOutputs:
    """Reference outputs of a graph whose model is not available."""
    return compute_reference(graph, sample_items(graph))


def compute_reference(graph: Graph, items: tuple[Array, ...]) -> ReferenceOutputs:
    """Reference outputs of a graph that differs from its model, for example by knobs. Of the first
    items in float64; of the others in float32, in which they may overflow."""
    with np.errstate(all="ignore"):
        parts = [
            reference.outputs(graph, *(each[rows] for each in items), dtype=dtype)
            for rows, dtype in ((slice(ITEMS), np.float64), (slice(ITEMS, None), np.float32))
            if len(items[0][rows])
        ]
    outputs = tuple(np.concatenate(each) for each in zip(*parts, strict=True))
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

"""What ONNX Runtime makes of some items, for a graph read from a file to be judged by."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from assay.native import expected
from assay.native.expected import Answers
from assay.native.graph import Array, Graph


def judged(path: str | Path, graph: Graph) -> Answers:
    """By the numpy reference where ONNX Runtime is not here: it knows the graph, not the file."""
    if not importlib.util.find_spec("onnxruntime"):
        return expected.by_reference(graph)
    import onnxruntime

    session = onnxruntime.InferenceSession(
        str(Path(path).expanduser()), providers=["CPUExecutionProvider"]
    )
    items = expected.items_for(graph)
    kinds = {each.name: each.type for each in session.get_inputs()}
    given = {
        value.name: array.astype(np.int64) if "int64" in kinds[value.name] else array
        for value, array in zip(graph.inputs, items, strict=True)
    }
    fixed = session.get_inputs()[0].shape[0]
    size = fixed if isinstance(fixed, int) else expected.ITEMS
    parts = [
        session.run(None, {name: _batch(array, at, size) for name, array in given.items()})
        for at in range(0, expected.ITEMS, size)
    ]
    outputs = tuple(np.concatenate(each)[: expected.ITEMS] for each in zip(*parts, strict=True))
    return Answers(judge="ONNX Runtime", inputs=items, outputs=outputs)


def _batch(array: Array, first: int, size: int) -> Array:
    """As many items as the file wants, from the first again where there are no more."""
    return array[np.arange(first, first + size) % len(array)]

"""A Keras model written for other tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.capturing import graph_of
from assay.errors import UsageError
from assay.native.capture import capture
from assay.native.graph import Graph
from assay.native.onnx_file import write_onnx
from assay.records import Value


def export_onnx(
    model: Any,  # noqa: ANN401 (a name, a file, or a keras.Model)
    path: str | Path,
    weights: str | Path = "",
    params: Mapping[str, Value] | None = None,
) -> Graph:
    """Write a model as ONNX; gives the graph that was written.

    >>> assay.export_onnx("mnist-mlp", "mnist-mlp.onnx", weights="mnist-mlp.npz")
    >>> assay.export_onnx(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]), "net.onnx")
    """
    if not str(path).endswith(".onnx"):
        raise UsageError(f"{path} is no name for an ONNX file.", hint=f"{path}.onnx would be one.")
    if isinstance(model, str):
        graph = graph_of(model, weights, params)
    elif weights or params:
        raise UsageError(
            "A model that is built already was given with weights or parameters for it.",
            hint="Load the weights into it, or give its name.",
        )
    else:
        graph = capture(model)
    write_onnx(graph, path)
    return graph

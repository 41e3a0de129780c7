"""A Keras model written for other tools."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AssayError, UsageError
from assay.core.files import user_file
from assay.core.records import Value
from assay.measure.compiler.agreement import agreement
from assay.measure.compiler.capture import CapturedModel, captured
from assay.native.graph import Graph
from assay.native.onnx.file import onnx_bytes


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    graph: Graph
    judge: str  # whose outputs those of ONNX Runtime were compared with; "": it is not here
    difference: float | None  # the largest from those, as a share of the largest output


def export_onnx(
    model: Any,  # noqa: ANN401 (a name, a file, a keras.Model or a Graph)
    path: str | Path,
    weights: str | Path = "",
    params: Mapping[str, Value] | None = None,
) -> Exported:
    """Write a model as ONNX, once ONNX Runtime, if it is here, computes what Keras does.

    >>> assay.export_onnx("mnist-mlp", "mnist-mlp.onnx", weights="mnist-mlp.npz")
    >>> assay.export_onnx(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]), "net.onnx")
    """
    if not str(path).endswith(".onnx"):
        raise UsageError(f"{path} is no name for an ONNX file.", hint=f"{path}.onnx would be one.")
    found = captured(model, weights, params)
    written = onnx_bytes(found.graph)
    difference = _difference(found, written)
    with user_file(path) as temporary:
        temporary.write_bytes(written)
    judge = "" if difference is None else found.answers.judge
    return Exported(graph=found.graph, judge=judge, difference=difference)


def _difference(found: CapturedModel, written: bytes) -> float | None:
    if not importlib.util.find_spec("onnxruntime"):
        return None
    outputs = _computed(found, written)
    graph, answers = found.graph, found.answers
    what = f"{graph.name} as ONNX"
    return agreement(what, graph.outputs, outputs, answers.outputs, answers.judge, found.rounding)


def _computed(found: CapturedModel, written: bytes) -> list[Any]:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

    failures = (errors.Fail, errors.InvalidGraph, errors.InvalidArgument, errors.RuntimeException)
    named = zip(found.graph.inputs, found.answers.inputs, strict=True)
    try:
        session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
        return list(session.run(None, {value.name: items for value, items in named}))
    except failures as error:
        raise AssayError(
            f"{found.graph.name} as ONNX does not run in ONNX Runtime ({error}); "
            "nothing was written.",
            hint="This is a bug of assay: please report it with the model.",
        ) from None

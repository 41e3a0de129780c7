"""A Keras model written for other tools."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.core.errors import AssayError, UsageError
from assay.core.files import write_user_file
from assay.core.options import Argument, Flag, Weights
from assay.core.records import Value
from assay.measure.compiler.capture import CapturedModel, capture_model
from assay.native.agreement import agreement_sentence, model_agreement
from assay.native.graph import Graph
from assay.native.onnx.file import onnx_bytes


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    graph: Graph
    judge: str  # the reference of ONNX Runtime's outputs; "": not installed
    difference: float | None  # the largest from those, as a share of the largest output


def export_onnx(
    model: Annotated[Any, Argument("MODEL")],
    path: Annotated[
        str | Path,
        Flag("ONNX file to write.", "FILE.onnx", flags="-o --output", required=True),
    ],
    weights: Weights = "",
    params: Annotated[
        Mapping[str, Value] | None,
        Flag("Parameter of MODEL.", "NAME=VALUE", flags="--set", read="pairs"),
    ] = None,
) -> Exported:
    """Write a model as ONNX, once ONNX Runtime, if it is here, computes what Keras does.

    >>> assay.export_onnx("mnist-mlp", "mnist-mlp.onnx", weights="mnist-mlp.npz")
    >>> assay.export_onnx(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]), "net.onnx")
    """
    if not str(path).endswith(".onnx"):
        raise UsageError(f"{path} is no name for an ONNX file.", hint=f"{path}.onnx would be one.")
    captured_model = capture_model(model, weights, params)
    data = onnx_bytes(captured_model.graph)
    difference = _difference(captured_model, data)
    write_user_file(path, data)
    reference = "" if difference is None else captured_model.expected.judge
    return Exported(graph=captured_model.graph, judge=reference, difference=difference)


def _difference(captured_model: CapturedModel, data: bytes) -> float | None:
    if not importlib.util.find_spec("onnxruntime"):
        return None
    outputs = _run_onnxruntime(captured_model, data)
    graph = captured_model.graph
    return model_agreement(f"{graph.name} as ONNX", graph, outputs, captured_model.expected)


def _run_onnxruntime(captured_model: CapturedModel, data: bytes) -> list[Any]:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

    failures = (errors.Fail, errors.InvalidGraph, errors.InvalidArgument, errors.RuntimeException)
    inputs = zip(captured_model.graph.inputs, captured_model.expected.inputs, strict=True)
    try:
        session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
        return list(session.run(None, {value.name: items for value, items in inputs}))
    except failures as error:
        raise AssayError(
            f"{captured_model.graph.name} as ONNX does not run in ONNX Runtime ({error}); "
            "nothing was written.",
            hint="This is a bug of assay: please report it with the model.",
        ) from None


@click_command(
    export_onnx,
    epilog="""\b
Examples:
  assay export-onnx mnist-mlp -o mnist-mlp.onnx
  assay export-onnx vgg16-cifar10 --weights vgg16.npz -o vgg16.onnx
  assay export-onnx model.keras -o model.onnx
  assay export-onnx ./my.py:MyNet --set units=128 -o my.onnx""",
)
def command(path: str, keywords: Keywords) -> int:
    """Write the Keras model MODEL as ONNX, its batch size free.

    MODEL is a workload, a function in a file of yours, or a model that Keras saved. If a layer
    cannot be written, the error names it and no file is written.
    """
    exported = export_onnx(**keywords)
    printing.put(path)
    graph = exported.graph
    samples = ", ".join(f"{value.name} (batch, {_sizes(value.shape)})" for value in graph.inputs)
    options.print_message(f"{len(graph.nodes)} operations; takes {samples}")
    if exported.difference is None:
        options.print_message(
            "not checked: ONNX Runtime is not installed: pip install 'assay-lab[onnxruntime]'"
        )
    else:
        options.print_message(
            agreement_sentence("ONNX Runtime", exported.judge, exported.difference)
        )
    return 0


def _sizes(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))

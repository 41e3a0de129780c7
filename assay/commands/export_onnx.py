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
from assay.core.files import user_file
from assay.core.options import Argument, Flag, Weights
from assay.core.records import Value
from assay.measure.compiler.agreement import agreement, agreement_sentence
from assay.measure.compiler.capture import CapturedModel, captured
from assay.native.graph import Graph
from assay.native.onnx.file import onnx_bytes


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    graph: Graph
    judge: str  # whose outputs those of ONNX Runtime were compared with; "": it is not here
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

    MODEL is a workload, a function in a file of yours, or a model that Keras saved. A layer that
    cannot be written is named, and nothing is left behind.
    """
    made = export_onnx(**keywords)
    printing.put(path)
    graph = made.graph
    samples = ", ".join(f"{value.name} (batch, {_sizes(value.shape)})" for value in graph.inputs)
    options.say(f"{len(graph.nodes)} operations; takes {samples}")
    if made.difference is None:
        options.say("not checked: ONNX Runtime is not here (pip install 'assay[onnxruntime]')")
    else:
        options.say(agreement_sentence("ONNX Runtime", made.judge, made.difference))
    return 0


def _sizes(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))

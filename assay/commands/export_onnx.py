"""A Keras model written for other tools."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from assay.cli import options, printing
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_file
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
    model: Any,
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


@click.command(
    epilog="""\b
Examples:
  assay export-onnx mnist-mlp -o mnist-mlp.onnx
  assay export-onnx vgg16-cifar10 --weights vgg16.npz -o vgg16.onnx
  assay export-onnx model.keras -o model.onnx
  assay export-onnx ./my.py:MyNet --set units=128 -o my.onnx"""
)
@click.argument("model", metavar="MODEL")
@click.option("-o", "--output", required=True, metavar="FILE.onnx", help="ONNX file to write.")
@click.option("--weights", default="", metavar="FILE", help="File of trained weights.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Parameter of MODEL.")
def command(model: str, output: str, weights: str, sets: tuple[str, ...]) -> int:
    """Write the Keras model MODEL as ONNX, its batch size free.

    MODEL is a workload, a function in a file of yours, or a model that Keras saved. A layer that
    cannot be written is named, and nothing is left behind.
    """
    made = export_onnx(model, output, weights, options.pairs(sets, "--set"))
    printing.put(output)
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

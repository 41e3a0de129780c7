"""assay export-onnx: a model for other tools."""

from __future__ import annotations

import click

from assay.cli import options, printing
from assay.commands import fold_verbs_export_onnx


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
    made = fold_verbs_export_onnx.export_onnx(model, output, weights, options.pairs(sets, "--set"))
    printing.put(output)
    graph = made.graph
    samples = ", ".join(f"{value.name} (batch, {_sizes(value.shape)})" for value in graph.inputs)
    options.say(f"{len(graph.nodes)} operations; takes {samples}")
    if made.difference is None:
        options.say("not checked: ONNX Runtime is not here (pip install 'assay[onnxruntime]')")
    else:
        options.say(options.agreed("ONNX Runtime", made.judge, made.difference))
    return 0


def _sizes(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))

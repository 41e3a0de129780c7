"""assay compile: a model as a program."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import options, printing
from assay.commands.compile import api
from assay.core.errors import UsageError
from assay.measure.compiler.agreement import agreement_sentence


@click.command(
    epilog="""\b
Examples:
  assay compile alexnet2 --weights alexnet2.npz -o build/
  build/alexnet2 -t test                     its pictures lie beside it, where they are here
  assay compile model.keras -o build/
  assay compile model.onnx --portable -o build/
  assay compile vgg16-cifar10 --config tuner_confs.txt:conf7 -o build/
  assay compile ./my.py:MyNet --set units=128 --kernels portable -o build/
  assay compile ./my.py:MyNet --config tuned/best.txt --data my.npz -o build/"""
)
@click.argument("model", metavar="MODEL")
@click.option(
    "-o",
    "--output",
    default="build",
    show_default=True,
    metavar="FOLDER",
    help="Folder to write to.",
)
@click.option("--weights", default="", metavar="FILE", help="File of trained weights.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Parameter of MODEL.")
@click.option(
    "--kernels",
    type=click.Choice(["auto", "portable", "onednn"]),
    default="auto",
    show_default=True,
    help="auto: oneDNN, where it is installed, beside our own; portable: our own only.",
)
@click.option(
    "--kernel",
    "forced",
    multiple=True,
    metavar="LAYER=NAME",
    help="Compute a layer by this kernel (direct, winograd-4x3, onednn, …), not by the quickest.",
)
@click.option(
    "--config",
    default="",
    metavar="FILE[:NAME]",
    help="Knobs for the layers, from a configuration file: its only inexact one, or NAME.",
)
@click.option(
    "--knob",
    "knobs",
    multiple=True,
    metavar="LAYER=ID",
    help="A knob for a layer: 13 is int8, 123 every second row, ….",
)
@click.option(
    "--data",
    default="",
    metavar="FILE.npz",
    help="Inputs from which int8 finds its ranges: the file that was given to assay tune.",
)
@click.option(
    "--program-only",
    is_flag=True,
    help="Write no pictures beside it, and tell only what is wrong.",
)
@click.option(
    "--portable",
    is_flag=True,
    help="Build for any CPU of this architecture; the program uses the best code it can run.",
)
def command(model: str, output: str, weights: str, sets: tuple[str, ...], **given: Any) -> int:
    """Compile the model MODEL into a program in FOLDER, named after it.

    MODEL is a workload, a function in a file of yours, a model that Keras saved, or an ONNX file of
    any framework; an operation that cannot be compiled is named. The program needs no Python, only
    the files beside it: its weights and, for the networks that come with a dataset, their test
    pictures.
    """
    made = api.compile_model(
        model,
        output,
        weights,
        options.pairs(sets, "--set"),
        kernels=given["kernels"],
        portable=given["portable"],
        kernel=options.pairs(given["forced"], "--kernel"),
        knobs=_knobs(given["config"], given["knobs"]),
        data=given["data"],
    )
    if given["program_only"]:
        return 0
    printing.put(str(made.program))
    kernels = "oneDNN and our own kernels" if made.onednn else "our own kernels"
    options.say(f"{made.layers} layers over {kernels}" + (", built before" if made.cached else ""))
    options.say(f"it takes {made.takes}")
    options.say(agreement_sentence("the program", made.judge, made.difference))
    if not weights and not model.endswith((".keras", ".h5", ".onnx")):
        options.say("its weights are untrained, made from a seed; give --weights for others")
    data = made.program.with_name(f"{made.program.name}.data")
    lacking = api.write_data(model, made, data)
    if lacking:
        options.say(lacking)
    options.say(f"to run it: {made.program} -t test" + ("" if data.is_dir() else " --data FOLDER"))
    return 0


def _knobs(config: str, given: tuple[str, ...]) -> dict[str, int] | str:
    if config and given:
        raise UsageError("--config and --knob were both given.", hint="Give one of them.")
    found = {}
    for layer, number in options.pairs(given, "--knob").items():
        if not number.isdecimal():
            raise UsageError(
                f"--knob got '{layer}={number}', but takes the number of a knob.",
                hint=f"--knob {layer}=13",
            )
        found[layer] = int(number)
    return found or config

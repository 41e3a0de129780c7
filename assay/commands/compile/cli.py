"""assay compile: a model as a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.commands.compile import api
from assay.core.errors import UsageError
from assay.core.options import Flag
from assay.measure.compiler.agreement import agreement_sentence


@click_command(
    api.compile_model,
    epilog="""\b
Examples:
  assay compile alexnet2 --weights alexnet2.npz -o build/
  build/alexnet2 -t test                     its pictures lie beside it, where they are here
  assay compile model.keras -o build/
  assay compile model.onnx --portable -o build/
  assay compile vgg16-cifar10 --config tuner_confs.txt:conf7 -o build/
  assay compile ./my.py:MyNet --set units=128 --kernels portable -o build/
  assay compile ./my.py:MyNet --config tuned/best.txt --data my.npz -o build/""",
)
def command(
    model: str,
    weights: str,
    keywords: Keywords,
    *,
    config: Annotated[
        str,
        Flag(
            "Knobs for the layers, from a configuration file: its only inexact one, or NAME.",
            "FILE[:NAME]",
        ),
    ] = "",
    knobs: Annotated[
        Mapping[str, str] | None,
        Flag(
            "A knob for a layer: 13 is int8, 123 every second row, ….",
            "LAYER=ID",
            flags="--knob",
            read="pairs",
        ),
    ] = None,
    program_only: Annotated[
        bool, Flag("Write no pictures beside it, and tell only what is wrong.")
    ] = False,
) -> int:
    """Compile the model MODEL into a program in FOLDER, named after it.

    MODEL is a workload, a function in a file of yours, a model that Keras saved, or an ONNX file of
    any framework; an operation that cannot be compiled is named. The program needs no Python, only
    the files beside it: its weights and, for the networks that come with a dataset, their test
    pictures.
    """
    made = api.compile_model(**keywords, knobs=_knobs(config, knobs or {}))
    if program_only:
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


def _knobs(config: str, knobs: Mapping[str, str]) -> dict[str, int] | str:
    if config and knobs:
        raise UsageError("--config and --knob were both given.", hint="Give one of them.")
    numbers = {}
    for layer, number in knobs.items():
        if not number.isdecimal():
            raise UsageError(
                f"--knob got '{layer}={number}', but takes the number of a knob.",
                hint=f"--knob {layer}=13",
            )
        numbers[layer] = int(number)
    return numbers or config

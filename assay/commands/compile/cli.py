"""assay compile: a model as a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.commands.compile import api
from assay.core.errors import UsageError
from assay.core.options import Flag
from assay.native.agreement import agreement_sentence


@click_command(
    api.compile_model,
    epilog="""\b
Examples:
  assay compile alexnet2 --weights alexnet2.npz -o build/
  build/alexnet2 -t test                     with the test images beside it, if any
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
            "Configuration file with per-layer knobs; NAME selects one of several.",
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
    program_only: Annotated[bool, Flag("Do not write the test images; print errors only.")] = False,
) -> int:
    """Compile the model MODEL into a program in FOLDER, named after it.

    MODEL is a workload, a function in a file of yours, a model that Keras saved, or an ONNX file of
    any framework; an operation that cannot be compiled is reported by name. The program needs no
    Python, only the files beside it: its weights and, for networks with a dataset, the test images.
    """
    compiled = api.compile_model(**keywords, knobs=_knobs(config, knobs or {}))
    if program_only:
        return 0
    printing.put(str(compiled.program))
    kernels = "oneDNN and our own kernels" if compiled.onednn else "our own kernels"
    options.print_message(
        f"{compiled.layers} layers over {kernels}" + (", cached" if compiled.cached else "")
    )
    options.print_message(f"it takes {compiled.takes}")
    options.print_message(_check_sentence(model, compiled.judge, compiled.difference))
    if not weights and not model.endswith((".keras", ".h5", ".onnx")):
        options.print_message(
            "its weights are untrained (random, from a seed); use --weights for trained ones"
        )
    data = compiled.program.with_name(f"{compiled.program.name}.data")
    missing = api.write_data(model, compiled, data)
    if missing:
        options.print_message(missing)
    options.print_message(
        f"to run it: {compiled.program} -t test" + ("" if data.is_dir() else " --data FOLDER")
    )
    return 0


def _check_sentence(model: str, judge: str, difference: float) -> str:
    """The numpy reference computes what was read of an ONNX file, which may be wrong itself."""
    if model.endswith(".onnx") and judge != "ONNX Runtime":
        return (
            "not checked: onnxruntime is not installed (pip install onnxruntime); the program "
            f"differs from {judge} by at most {difference:.1e} of the largest output"
        )
    return agreement_sentence("the program", judge, difference)


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

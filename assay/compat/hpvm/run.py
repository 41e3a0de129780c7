"""HPVM-C programs, anyone's: compiled as ordinary C++ and run over the native runtime."""

from __future__ import annotations

import tempfile
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.files import user_path
from assay.native.hpvm.builder import ModelSettings
from assay.native.hpvm.config_sets import select_config
from assay.native.hpvm.configs import read_configs, split_config_name
from assay.native.hpvm.program import HpvmRun, compile_program, execute
from assay.native.toolchain import Kernels

SETS = ("test", "tune")


def run_hpvm(
    source: str | Path,
    data: str | Path = "",
    images: str = "",
    configs: str | Path = "",
    folder: str | Path = ".",
    kernels: Kernels = "auto",
    threads: int = 0,
) -> HpvmRun:
    """Compile an HPVM-C program and run it in `folder`, where it writes final_accuracy.

    Files that it does not find where it looks are looked for in the folder `data`. `images` is test
    or tune, if the program takes that as -d; `configs` a file with one configuration beside the
    exact one, or FILE:NAME, if it takes -c.

    >>> assay.run_hpvm("lenet_mnist.cpp", data="model_params").accuracy
    98.7
    """
    words = [*_images(images), *_configs(configs)]
    if data and not user_path(data).is_dir():
        raise UsageError(
            f"There is no folder {data}.", hint="It holds weights, inputs and labels as .bin files."
        )
    settings = ModelSettings(kernels=kernels)
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-") as place:
        program = compile_program(source, Path(place) / "program", settings)
        return execute(program, words, folder, data, settings, threads)


def _images(images: str) -> list[str]:
    if images and images not in SETS:
        raise UsageError(f"The images '{images}' were asked for.", hint="They are test or tune.")
    return ["-d", images] if images else []


def _configs(configs: str | Path) -> list[str]:
    """Mistakes of the file are told before anything is compiled, those for the network later."""
    if not configs:
        return []
    place, name = split_config_name(configs)
    select_config(read_configs(place), name)
    return ["-c", f"{place.absolute()}{':' * bool(name)}{name}"]

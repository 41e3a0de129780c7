"""Compile HPVM-C programs as ordinary C++ and run them on the native runtime."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from assay.core.errors import UsageError
from assay.core.files import user_path
from assay.core.options import Flag
from assay.core.units import as_choice, as_integer
from assay.native.toolchain import Kernels

if TYPE_CHECKING:
    from assay.native.hpvm.program import HpvmRun

ImageSet = Literal["test", "tune"]


def run_hpvm(
    source: str | Path,
    data: Annotated[str | Path, Flag("Where its weights and inputs are.", "FOLDER")] = "",
    images: Annotated[ImageSet | None, Flag("Which images.", flags="-t -d")] = None,
    configs: Annotated[
        str | Path,
        Flag("A configuration file: its only inexact one, or NAME.", "FILE[:NAME]", flags="-c"),
    ] = "",
    correct: Annotated[
        bool, Flag("Correct the remaining weights of samplings by least squares.")
    ] = False,
    folder: str | Path = ".",
    kernels: Annotated[
        Kernels, Flag("auto: oneDNN, where it is installed, beside our own.")
    ] = "auto",
    threads: Annotated[int | None, Flag("As many as it may use, if not given.", min=1)] = None,
) -> HpvmRun:
    """Compile an HPVM-C program and run it in `folder`, where it writes final_accuracy.

    Files that it does not find where it looks are looked for in the folder `data`. `images` is test
    or tune, if the program takes that as -d; `configs` a file with one configuration beside the
    exact one, or FILE:NAME, if it takes -c. Samplings multiply the remaining weights by s / (s - 1)
    as HPVM does; with `correct`, and in configurations that an earlier `assay tune` wrote, they are
    corrected by least squares.

    >>> assay.run_hpvm("lenet_mnist.cpp", data="model_params").accuracy
    98.7
    """
    from assay.native.hpvm.builder import ModelSettings
    from assay.native.hpvm.program import compile_program, execute

    threads = None if threads is None else as_integer(threads, "threads", 1)
    words = [*_images(images), *_configs(configs)]
    if data and not user_path(data).is_dir():
        raise UsageError(
            f"There is no folder {data}.", hint="It holds weights, inputs and labels as .bin files."
        )
    settings = ModelSettings(kernels=kernels, correct=correct or _was_tuned(configs))
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-") as temporary:
        program = compile_program(source, Path(temporary) / "program", settings)
        return execute(program, words, folder, data, settings, threads or 0)


def _was_tuned(configs: str | Path) -> bool:
    """Whether `assay tune` wrote the configurations, which are next to its calibration items."""
    from assay.native.hpvm.configs import split_config_name
    from assay.native.knobs.calibration_file import has_items

    return bool(configs) and has_items(split_config_name(configs)[0])


def _images(images: ImageSet | None) -> list[str]:
    return ["-d", as_choice(images, "images", get_args(ImageSet))] if images else []


def _configs(configs: str | Path) -> list[str]:
    """Check the file before anything is compiled; whether it fits the network is checked later."""
    if not configs:
        return []
    from assay.native.hpvm.config_sets import select_config
    from assay.native.hpvm.configs import read_configs, split_config_name

    path, name = split_config_name(configs)
    select_config(read_configs(path), name)
    return ["-c", f"{path.absolute()}{':' * bool(name)}{name}"]

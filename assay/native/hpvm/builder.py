"""The model of a graph that an HPVM-C program launched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from assay.native.build import build, filled
from assay.native.emit import emit
from assay.native.hpvm.recorded import read_recorded
from assay.native.passes.pipeline import optimized
from assay.native.toolchain import Kernels, toolchain


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the models of a program are built."""

    kernels: Kernels = "auto"
    portable: bool = False
    sanitize: bool = False
    cache: str = ""  # "": the usual one


def build_recorded(settings: ModelSettings, folder: Path, target: Path) -> None:
    """What `folder` describes, as a library and weights in `target`: the same passes and the same
    build as for a captured model."""
    tools = toolchain(settings.kernels, settings.portable, settings.sanitize)
    emitted = emit(optimized(read_recorded(folder)))
    built = build(emitted, tools, Path(settings.cache) if settings.cache else None)
    with filled(target) as fresh:
        for file in (built.library, built.weights, *built.folder.glob("libdnnl.so*")):
            _linked(file, fresh / file.name)


def _linked(file: Path, place: Path) -> None:
    try:
        os.link(file, place)  # weights may be large, and are never written again
    except OSError:
        shutil.copy(file, place)

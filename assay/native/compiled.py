"""A model of this process made into a program for this machine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec

from assay.errors import AssayError
from assay.native.build import build
from assay.native.capture import capture
from assay.native.compiler import Kernels, toolchain
from assay.native.emit import emit
from assay.native.graph import Graph
from assay.native.passes.pipeline import optimized
from assay.native.writing import written_whole


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """What was made, and from what."""

    program: Path
    files: tuple[Path, ...]  # with it: what it needs beside it, and its source
    layers: int
    input_shape: tuple[int, ...]  # of one image in the data files: channels, height, width
    cached: bool  # the same model had been built before
    onednn: bool


def compile_model(
    model: Any,  # noqa: ANN401 (a keras.Model or a Graph)
    output: str | Path = "build",
    kernels: Kernels = "auto",
    portable: bool = False,
) -> Compiled:
    """Build a program named after the model in the folder `output`."""
    tools = toolchain(kernels, portable)
    graph = optimized(model if isinstance(model, Graph) else capture(model))
    emitted = emit(graph)
    built = build(emitted, tools)
    folder = Path(output).expanduser()
    return Compiled(
        program=folder / built.name,
        files=tuple(_copied(file, folder) for file in built.files),
        layers=len(graph.nodes),
        input_shape=emitted.input_shape,
        cached=built.cached,
        onednn=bool(tools.onednn),
    )


def _copied(file: Path, folder: Path) -> Path:
    if folder.exists() and not folder.is_dir():
        raise AssayError(f"{folder} is a file, not a folder.", hint="Give another place with -o.")
    with written_whole(folder / file.name) as temporary:
        shutil.copy(file, temporary)
    return folder / file.name

"""A Keras model made into a program for this machine."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.errors import AssayError, UsageError
from assay.native.build import build
from assay.native.compiler import Kernels, toolchain
from assay.native.emit import emit
from assay.native.graph import Graph
from assay.native.passes.pipeline import optimized
from assay.native.writing import written_whole
from assay.records import Value


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """What was made, and from what."""

    program: Path
    files: tuple[Path, ...]  # with it: what it needs beside it, and its source
    layers: int
    input_shape: tuple[int, ...]  # of one image in the data files: channels, height, width
    cached: bool  # the same model had been built before
    onednn: bool


def compile_model(
    model: Any,  # noqa: ANN401 (a name, a file, a keras.Model or a Graph)
    output: str | Path = "build",
    weights: str | Path = "",
    params: Mapping[str, Value] | None = None,
    kernels: Kernels = "auto",
    portable: bool = False,
) -> Compiled:
    """Build a program named after the model in the folder `output`.

    >>> assay.compile_model("alexnet2", "build", weights="alexnet2.npz").program
    PosixPath('build/alexnet2')
    """
    tools = toolchain(kernels, portable)  # its lack is told before a model is built
    graph = optimized(_graph(model, weights, params))
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


def _graph(model: Any, weights: str | Path, params: Mapping[str, Value] | None) -> Graph:  # noqa: ANN401
    if isinstance(model, str):
        from assay.capturing import graph_of

        return graph_of(model, weights, params)
    if weights or params:
        raise UsageError(
            "A model that is built already was given with weights or parameters for it.",
            hint="Load the weights into it, or give its name.",
        )
    if isinstance(model, Graph):
        return model
    from assay.native.capture import capture

    return capture(model)


def _copied(file: Path, folder: Path) -> Path:
    if folder.exists() and not folder.is_dir():
        raise AssayError(f"{folder} is a file, not a folder.", hint="Give another place with -o.")
    with written_whole(folder / file.name) as temporary:
        shutil.copy(file, temporary)
    return folder / file.name

"""Compile a graph to a program for this machine, and install it in a user's folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.errors import AssayError
from assay.core.files import user_file, user_path
from assay.native.build import ModelFiles, build
from assay.native.emit import ModelSource, emit
from assay.native.graph import Array, Graph, Value
from assay.native.kernels import force_kernels
from assay.native.knobs.apply import apply_knobs
from assay.native.passes.pipeline import optimize
from assay.native.run_program import program_outputs
from assay.native.toolchain import Toolchain


class InstalledProgram(msgspec.Struct, frozen=True, kw_only=True):
    """The installed program and how it was built."""

    program: Path
    files: tuple[Path, ...]  # the program, the files it needs next to it, and its source
    layers: int
    inputs: tuple[Value, ...]  # of one item in the data files; images are channels first
    cached: bool  # built before
    onednn: bool
    judge: str  # source of the reference outputs
    difference: float  # largest difference from them, as a share of the largest output

    @property
    def takes(self) -> str:
        """What an item of its data files is, in the program's words (`program.hpp`)."""
        return "; and ".join(map(_input_text, self.inputs))


def _input_text(value: Value) -> str:
    sizes = " x ".join(map(str, value.shape))
    if not value.layout:
        return f"items of {sizes} {value.dtype}, the last axis innermost"
    return f"images of {sizes} float32: channels, height, width (channels first)"


class BuiltModel(msgspec.Struct, frozen=True, kw_only=True):
    """A program in the cache, not yet checked."""

    graph: Graph  # as it was compiled
    emitted: ModelSource
    built: ModelFiles
    layers: int
    onednn: bool

    def outputs(self, items: Sequence[Array]) -> dict[str, list[Array]]:
        """The program's outputs, with guessed kernels and with those of oneDNN."""
        kinds = ("auto", "onednn") if self.onednn else ("auto",)
        return {kind: program_outputs(self.built, self.emitted, items, kind) for kind in kinds}


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """A user's changes, by the names of layers."""

    kernel: Mapping[str, str] = {}
    knobs: Mapping[str, int] = {}
    items: tuple[Array, ...] = ()  # a batch for each input, to calibrate ranges


def compile_graph(graph: Graph, tools: Toolchain, changes: Changes | None = None) -> BuiltModel:
    """Optimize, emit and build a captured graph."""
    changes = changes or Changes()
    graph = optimize(graph)
    graph = apply_knobs(graph, changes.knobs, changes.items) if changes.knobs else graph
    graph = force_kernels(graph, changes.kernel)
    emitted = emit(graph)
    return BuiltModel(
        graph=graph,
        emitted=emitted,
        built=build(emitted, tools),
        layers=len(graph.nodes),
        onednn=bool(tools.onednn),
    )


def install(
    model: BuiltModel, output: str | Path, judge: str, difference: float
) -> InstalledProgram:
    """Copy the program and the files it needs to the folder `output`."""
    folder = user_path(output)
    return InstalledProgram(
        program=folder / model.built.name,
        files=tuple(_copy(file, folder) for file in model.built.files),
        layers=model.layers,
        inputs=model.emitted.inputs,
        cached=model.built.cached,
        onednn=model.onednn,
        judge=judge,
        difference=difference,
    )


def _copy(file: Path, folder: Path) -> Path:
    if folder.exists() and not folder.is_dir():
        raise AssayError(f"{folder} is a file, not a folder.", hint="Give another folder with -o.")
    with user_file(folder / file.name) as temporary:
        shutil.copy(file, temporary)
    return folder / file.name

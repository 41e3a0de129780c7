"""Compile a graph to a program for this machine, and install it in a user's folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.errors import AssayError
from assay.core.files import user_file, user_path
from assay.native.build import Built, build
from assay.native.emit import Emitted, emit
from assay.native.graph import Array, Graph, Value
from assay.native.kernels import forced
from assay.native.knobs.apply import applied
from assay.native.passes.pipeline import optimized
from assay.native.run_program import program_outputs
from assay.native.toolchain import Toolchain


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
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
        return "; and ".join(map(_taken, self.inputs))


def _taken(value: Value) -> str:
    sizes = " x ".join(map(str, value.shape))
    if not value.layout:
        return f"items of {sizes} {value.dtype}, the last axis innermost"
    return f"images of {sizes} float32: channels, height, width (channels first)"


class BuiltModel(msgspec.Struct, frozen=True, kw_only=True):
    """A program in the cache, not yet checked."""

    graph: Graph  # as it was compiled
    emitted: Emitted
    built: Built
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


def built_model(graph: Graph, tools: Toolchain, changes: Changes | None = None) -> BuiltModel:
    """Optimize, emit and build a captured graph."""
    changes = changes or Changes()
    graph = optimized(graph)
    graph = applied(graph, changes.knobs, changes.items) if changes.knobs else graph
    graph = forced(graph, changes.kernel)
    emitted = emit(graph)
    return BuiltModel(
        graph=graph,
        emitted=emitted,
        built=build(emitted, tools),
        layers=len(graph.nodes),
        onednn=bool(tools.onednn),
    )


def placed(model: BuiltModel, output: str | Path, judge: str, difference: float) -> Compiled:
    """Copy the program and the files it needs to the folder `output`."""
    folder = user_path(output)
    return Compiled(
        program=folder / model.built.name,
        files=tuple(_copied(file, folder) for file in model.built.files),
        layers=model.layers,
        inputs=model.emitted.inputs,
        cached=model.built.cached,
        onednn=model.onednn,
        judge=judge,
        difference=difference,
    )


def _copied(file: Path, folder: Path) -> Path:
    if folder.exists() and not folder.is_dir():
        raise AssayError(f"{folder} is a file, not a folder.", hint="Give another folder with -o.")
    with user_file(folder / file.name) as temporary:
        shutil.copy(file, temporary)
    return folder / file.name

"""A graph made into a program for this machine: built first, put into a user's folder after."""

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
    """What was made, and from what."""

    program: Path
    files: tuple[Path, ...]  # with it: what it needs beside it, and its source
    layers: int
    inputs: tuple[Value, ...]  # of one item in the data files; images are channels first
    cached: bool  # the same model had been built before
    onednn: bool
    judge: str  # whose outputs its own were compared with
    difference: float  # the largest from those, as a share of the largest output

    @property
    def takes(self) -> str:
        """What an item of its data files is, as the program itself says it (`program.hpp`)."""
        return "; and ".join(map(_taken, self.inputs))


def _taken(value: Value) -> str:
    sizes = " x ".join(map(str, value.shape))
    if not value.layout:
        return f"items of {sizes} {value.dtype}, the last axis innermost"
    return f"images of {sizes} float32: channels, height, width (channels first)"


class BuiltModel(msgspec.Struct, frozen=True, kw_only=True):
    """A program in the cache, not yet judged."""

    graph: Graph  # as it was compiled
    emitted: Emitted
    built: Built
    layers: int
    onednn: bool

    def outputs(self, items: Sequence[Array]) -> dict[str, list[Array]]:
        """Of its program, by the kernels it is tried with: the guess, and all of oneDNN's."""
        kinds = ("auto", "onednn") if self.onednn else ("auto",)
        return {kind: program_outputs(self.built, self.emitted, items, kind) for kind in kinds}


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What a user wants otherwise than it would be, by the names of layers."""

    kernel: Mapping[str, str] = {}  # that has to compute it
    knobs: Mapping[str, int] = {}
    items: tuple[Array, ...] = ()  # a batch for each input, from which ranges are found


def built_model(graph: Graph, tools: Toolchain, changes: Changes | None = None) -> BuiltModel:
    """Of a captured graph."""
    wanted = changes or Changes()
    graph = optimized(graph)
    graph = applied(graph, wanted.knobs, wanted.items) if wanted.knobs else graph
    graph = forced(graph, wanted.kernel)
    emitted = emit(graph)
    return BuiltModel(
        graph=graph,
        emitted=emitted,
        built=build(emitted, tools),
        layers=len(graph.nodes),
        onednn=bool(tools.onednn),
    )


def placed(made: BuiltModel, output: str | Path, judge: str, difference: float) -> Compiled:
    """The program and what it needs, in the folder `output`."""
    folder = user_path(output)
    return Compiled(
        program=folder / made.built.name,
        files=tuple(_copied(file, folder) for file in made.built.files),
        layers=made.layers,
        inputs=made.emitted.inputs,
        cached=made.built.cached,
        onednn=made.onednn,
        judge=judge,
        difference=difference,
    )


def _copied(file: Path, folder: Path) -> Path:
    if folder.exists() and not folder.is_dir():
        raise AssayError(f"{folder} is a file, not a folder.", hint="Give another place with -o.")
    with user_file(folder / file.name) as temporary:
        shutil.copy(file, temporary)
    return folder / file.name

"""Compile several graphs to one program, which computes the requested one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from assay.native.build import ModelFiles, build_program
from assay.native.emit import Emitter, ModelSource, file_name
from assay.native.graph import Array, Graph
from assay.native.passes.pipeline import eliminate_dead_code
from assay.native.passes.transposes import take_channels_first
from assay.native.run_program import run_on_data, run_program
from assay.native.toolchain import Toolchain

VARIANT_VARIABLE = "ASSAY_VARIANT"  # environment variable


class Variants(NamedTuple):
    """A program in a folder of the caller, and its variants in the order of the graphs."""

    built: ModelFiles
    parts: tuple[ModelSource, ...]

    def outputs(self, number: int, data: Path, threads: int = 1) -> list[Array]:
        """Outputs for the items in a folder that `write_items` filled."""
        more = ("--threads", str(threads))
        return run_on_data(
            self.built, self.parts[number], data, *more, variables=_environment(number)
        )

    def first(self, number: int, data: Path, threads: int = 1) -> Array:
        """The first output."""
        return self.outputs(number, data, threads)[0]

    def layer_seconds(self, number: int, batch: int, choosing: float) -> dict[str, float]:
        """CPU time of one item, by the names of the graph's nodes."""
        report = self._run_json(
            number, "--layers", "--batch", str(batch), "--choose", str(choosing)
        )
        seconds: dict[str, float] = {}
        for layer in report["layers"]:
            name = self.parts[number].layers[layer["layer"]]
            seconds[name] = seconds.get(name, 0.0) + layer["seconds"] / report["at_once"]
        return seconds

    def item_seconds(self, number: int, data: Path, batch: int, choosing: float) -> float:
        """Time of one item in a pass over those in a folder."""
        words = ("--data", str(data), "--batch", str(batch), "--choose", str(choosing))
        report = self._run_json(number, *words)
        return float(report["seconds"] / report["images"])

    def _run_json(self, number: int, *words: str) -> dict[str, Any]:
        more = ("--json", "--threads", "1")
        text = run_program(self.built, (*words, *more), self.built.folder, _environment(number))
        report: dict[str, Any] = json.loads(text)
        return report


def build_variants(graphs: Sequence[Graph], tools: Toolchain, folder: Path) -> Variants:
    """Build optimized graphs, with or without knobs; shared constants are written once."""
    pool = _Pool()
    parts, bodies = [], []
    for graph in graphs:
        emitter = _SharingEmitter(eliminate_dead_code(take_channels_first(graph)), pool)
        channels_last = tuple(value.layout == "channels_last" for value in graph.inputs)
        parts.append(
            msgspec.structs.replace(emitter.emit_model(channels_last), constants={}, source="")
        )
        bodies.append(emitter.lines)
    name = file_name(graphs[0].name)
    whole = msgspec.structs.replace(
        parts[0], name=name, source=_source(name, bodies), constants=pool.constants
    )
    return Variants(build_program(folder, whole, tools), tuple(parts))


class _Pool:
    """Constants by their content."""

    def __init__(self) -> None:
        self.constants: dict[str, Array] = {}
        self._names: dict[bytes, str] = {}

    def name(self, array: Array) -> str:
        values = np.ascontiguousarray(array, dtype="<f4")
        digest = hashlib.blake2b(values.data, digest_size=16).digest()
        name = self._names.setdefault(digest, f"c{len(self._names)}")
        self.constants.setdefault(name, array)
        return name


class _SharingEmitter(Emitter):
    def __init__(self, graph: Graph, pool: _Pool) -> None:
        super().__init__(graph)
        self._pool = pool

    def constant(self, name: str, values: Array | None = None) -> str:
        if not name:
            return '""'
        return json.dumps(self._pool.name(self.graph.constants[name] if values is None else values))


def _environment(number: int) -> dict[str, str]:
    return {VARIANT_VARIABLE: str(number)}


def _source(name: str, bodies: Sequence[Sequence[str]]) -> str:
    functions = "\n".join(
        f"static void variant{number}(Network& net) {{\n"
        + "\n".join(f"    {line}" for line in lines)
        + "\n}\n"
        for number, lines in enumerate(bodies)
    )
    table = ", ".join(f"variant{number}" for number in range(len(bodies)))
    return _SOURCE.format(
        functions=functions, table=table, choice=VARIANT_VARIABLE, name=json.dumps(name)
    )


_SOURCE = """\
// Variants of one model, written by assay tune: the environment says which one is computed.
#include <cstdlib>

#include "model.hpp"

using namespace assay;

{functions}
void assay::describe(Network& net) {{
    static void (*const variants[])(Network&) = {{{table}}};
    const char* const chosen = std::getenv("{choice}");
    variants[chosen ? std::atoi(chosen) : 0](net);
}}

const char* const assay::model_name = {name};
"""

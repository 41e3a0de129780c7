"""Build the model of a graph that an HPVM-C program launched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import numpy as np

from assay.core.files import modified_time
from assay.native.build import atomic_dir, build
from assay.native.emit import emit
from assay.native.graph import Array, Graph
from assay.native.hpvm.config_sets import check_fit
from assay.native.hpvm.configs import parse
from assay.native.hpvm.dataflow import Dataflow, line_names
from assay.native.hpvm.recording import read_flow, read_recording
from assay.native.knobs.apply import apply_knobs
from assay.native.knobs.from_config import config_knobs, correct_samplings
from assay.native.passes.pipeline import optimize
from assay.native.toolchain import Kernels, toolchain

MAX_MODELS = 16  # cached models of configurations in a folder; each has its own weights


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the models of a program are built."""

    kernels: Kernels = "auto"
    portable: bool = False
    sanitize: bool = False
    cache: str = ""  # "": the usual one
    correct: bool = False  # correct the weights of samplings by least squares


def build_recording(settings: ModelSettings, folder: Path, target: Path) -> None:
    """Build a library and weights in `target` from a recorded graph in `folder`, with the passes
    of a captured model and the knobs of its configuration, if any."""
    tools = toolchain(settings.kernels, settings.portable, settings.sanitize)
    flow = read_flow(folder)
    configured = (folder / "config.txt").exists()
    graph = optimize(read_recording(folder))
    emitted = emit(_with_knobs(graph, flow, folder, settings.correct) if configured else graph)
    cache = Path(settings.cache) if settings.cache else None
    with atomic_dir(target) as fresh:
        # a tuner builds many configurations: do not store them twice
        built = build(emitted, tools, cache, fresh / "built" if configured else None)
        for file in (built.library, built.weights, *built.folder.glob("libdnnl.so*")):
            _link(file, fresh / file.name)
        (fresh / "root.lines").write_text(line_names(flow))
        if configured:
            shutil.rmtree(built.folder)
    if configured:
        _remove_old(target.parent)


def _with_knobs(graph: Graph, flow: Dataflow, folder: Path, correct: bool) -> Graph:
    configs = parse((folder / "config.txt").read_text(), (folder / "config_file.txt").read_text())
    check_fit(configs, flow)
    knobs = config_knobs(configs, configs.configurations[0], flow, graph)
    knobs = correct_samplings(knobs) if correct else knobs
    return apply_knobs(graph, knobs, _items(graph, np.fromfile(folder / "items.bin", np.float32)))


def _items(graph: Graph, numbers: Array) -> tuple[Array, ...]:
    """Split numbers into a batch of equal length for each input."""
    sizes = [int(np.prod(value.shape)) for value in graph.inputs]
    count = len(numbers) // sum(sizes)
    parts = np.split(numbers, np.cumsum([count * size for size in sizes])[:-1])
    return tuple(
        part.reshape(count, *value.shape) for part, value in zip(parts, graph.inputs, strict=True)
    )


def _remove_old(folder: Path) -> None:
    """Remove all but the latest models of configurations, which have a `-` in their names."""
    models = sorted(folder.glob("*-*"), key=modified_time)
    for path in models[:-MAX_MODELS]:
        shutil.rmtree(path, ignore_errors=True)


def _link(file: Path, target: Path) -> None:
    try:
        os.link(file, target)  # weights may be large, and are never written again
    except OSError:
        shutil.copy(file, target)

"""Models compiled for tests: their programs and libraries, kept for the whole session."""

from __future__ import annotations

import subprocess

import numpy as np

from assay.native.build import ModelFiles, build
from assay.native.emit import ModelSource, emit
from assay.native.library import LoadedModel
from assay.native.passes.pipeline import optimize


def compiled(graph, tools, cache) -> tuple[ModelSource, ModelFiles]:
    emitted = emit(optimize(graph))
    return emitted, build(emitted, tools, cache)


def loaded_outputs(emitted, built, images, batch, threads=1, kernels="auto"):
    """By the library, in batches of which the last may be a tail; kernels are guessed."""
    engine = LoadedModel(built, emitted, batch, threads, kernels, seconds=0)
    parts = [engine.run(images[at : at + batch])[0] for at in range(0, len(images), batch)]
    engine.close()
    return np.concatenate(parts)


def program(built, folder, *words):
    """The program's ending, its output and its complaints, with `folder` as where it is called."""
    command = [str(built.program), "--data", str(folder), "--choose", "0", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def write_data(folder, images, labels, name="test"):
    """As HPVM has them: float32 images, channels first, and 32-bit labels."""
    np.ascontiguousarray(images, np.float32).tofile(folder / f"{name}_input.bin")
    np.asarray(labels, np.uint32).tofile(folder / f"{name}_labels.bin")

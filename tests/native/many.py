"""Many models in one program, so that the compiler is started once for all of them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from assay.native.build import RUNTIME, ModelFiles, runtime_parts, write_weights
from assay.native.emit import emit
from assay.native.library import LoadedModel
from assay.native.passes.pipeline import optimize
from assay.native.run_program import program_outputs

WHICH = "ASSAY_TEST_NET"  # the variable that says which of them it is

HEAD = """
#include <cstdlib>

#include "model.hpp"

const char* const assay::model_name = "many";
"""


def build_many(graphs, tools, cache, folder: Path):
    """Each graph as (Emitted, Built): a folder of its own, with links to the one program."""
    emitted = [emit(optimize(graph)) for graph in graphs]
    nets = "".join(_described(number, each) for number, each in enumerate(emitted))
    (folder / "many.cpp").write_text(HEAD + nets + _choice(len(emitted)))
    tools.compile(folder / "many.cpp", folder / "many.o", RUNTIME, "-O0", "-Wno-unused")
    parts = [folder / "many.o", *runtime_parts(tools, cache)]
    tools.link(parts, folder / "many", shared=False)
    tools.link(parts, folder / "many.so", shared=True)
    if tools.onednn:
        os.symlink(Path(tools.onednn) / "lib" / "libdnnl.so.3", folder / "libdnnl.so.3")
    return [(each, _placed(folder, number, each)) for number, each in enumerate(emitted)]


def _described(number, emitted):
    body = emitted.source.partition("Network& net) {\n")[2].partition("\n}\n")[0]
    head = f"static void net{number}(assay::Network& net)"
    return f"\n{head} {{\n    using namespace assay;\n{body}\n}}\n"


def _choice(count):
    nets = ", ".join(f"net{number}" for number in range(count))
    return f"""
void assay::describe(Network& net) {{
    void (*const nets[])(Network&) = {{{nets}}};
    nets[std::atoi(std::getenv("{WHICH}"))](net);
}}
"""


def _placed(folder, number, emitted):
    """Hard links: a program looks for its weights beside the name it was started by."""
    place = folder / str(number)
    place.mkdir()
    for path in (folder / "many", folder / "many.so", *folder.glob("libdnnl*")):
        os.link(path, place / path.name, follow_symlinks=False)
    with open(place / "many.weights", "wb") as file:
        write_weights(file, emitted.constants)
    return ModelFiles(folder=place, name="many", cached=False)


@contextmanager
def _chosen(built):
    os.environ[WHICH] = built.folder.name
    try:
        yield
    finally:
        del os.environ[WHICH]


def by_library(emitted, built, inputs, kernels="auto", batch=0, threads=1):
    """Outputs of all inputs in batches, the last of which may be smaller."""
    batch = batch or len(inputs[0])
    with _chosen(built):
        engine = LoadedModel(built, emitted, batch, threads, kernels, seconds=0)
        parts = [
            engine.run(*(each[at : at + batch] for each in inputs))
            for at in range(0, len(inputs[0]), batch)
        ]
        engine.close()
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def by_program(emitted, built, inputs, *words):
    with _chosen(built):
        return program_outputs(built, emitted, inputs, "auto", *words)

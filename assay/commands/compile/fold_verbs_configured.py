"""What lets a compiled program take a configuration: its lines, and who builds the others."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from assay.core.errors import UsageError
from assay.core.files import user_path, write_whole
from assay.core.messages import MODEL_FILES
from assay.core.records import Value
from assay.native.compile import Compiled
from assay.native.graph import Graph
from assay.native.hpvm.dataflow import line_names
from assay.native.hpvm.lowering import dataflow
from assay.native.toolchain import Kernels

# Folders that a compilation depends on, as they were.
KEPT = ("ASSAY_DATA", "ASSAY_HOME", "XDG_CACHE_HOME")


class CompileRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How a model was compiled, so that it can be again."""

    model: str = ""  # "": it has no name
    weights: str = ""
    params: Mapping[str, Value] = {}
    kernels: Kernels = "auto"
    portable: bool = False
    kernel: Mapping[str, str] = {}


def take_configurations(made: Compiled, graph: Graph, request: CompileRequest) -> None:
    """For the program's -c: `NAME.lines`, which a configuration has to have, where HPVM has
    operations for the network; and `NAME.configs/build`, which it starts for one that is not built
    yet, where the model has a name."""
    lines, folder = (
        made.program.with_name(made.program.name + end) for end in (".lines", ".configs")
    )
    try:
        write_whole(lines, line_names(dataflow(graph)).encode())
    except UsageError:
        return lines.unlink(missing_ok=True)
    if folder.exists():
        shutil.rmtree(folder)  # of the program that was here before
    if request.model:
        folder.mkdir()
        write_whole(folder / "build", "\n".join(words_of(request)).encode())


def words_of(request: CompileRequest) -> list[str]:
    """The command line that compiles it; paths do not depend on where it is started."""
    held = [f"{name}={os.path.abspath(os.environ[name])}" for name in KEPT if os.environ.get(name)]
    words = ["/usr/bin/env", *held, sys.executable, "-P", "-m", "assay", "compile"]
    words += [_absolute(request.model), "--program-only", "--kernels", request.kernels]
    if request.weights:
        words += ["--weights", str(user_path(request.weights).absolute())]
    words += ["--portable"] * request.portable
    for flag, given in (("--set", request.params), ("--kernel", request.kernel)):
        for name, value in given.items():
            words += [flag, f"{name}={value}"]
    return words


def _absolute(model: str) -> str:
    """A file, or a name in a file, from the root on; a workload's name as it is."""
    file, colon, name = model.partition(".py:")
    if colon:
        return f"{user_path(file + '.py').absolute()}:{name}"
    is_file = Path(model).suffix in (*MODEL_FILES, ".onnx")
    return str(user_path(model).absolute()) if is_file else model

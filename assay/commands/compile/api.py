"""A model, by name, as a file or as it is, made into a program for this machine."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
import numpy as np
from msgspec.structs import replace

from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.contracts import WithExamples
from assay.core.errors import NotPossibleError, UsageError
from assay.core.files import user_path, write_whole, written_whole
from assay.core.messages import MODEL_FILES
from assay.core.options import Argument, Flag, Weights
from assay.core.records import Value
from assay.core.sessions import Examples
from assay.core.units import as_choice
from assay.measure.compiler.agreement import UNLUCKY, agreement
from assay.measure.compiler.capture import CapturedModel, captured, model_of
from assay.measure.compiler.splits import calibrated, calibration_items
from assay.native import compile as native_compile
from assay.native.compile import BuiltModel, Compiled
from assay.native.expected import answers_of
from assay.native.graph import Graph
from assay.native.hpvm.dataflow import line_names
from assay.native.hpvm.lowering import dataflow
from assay.native.knobs.simulated import is_rounded
from assay.native.toolchain import Kernels, toolchain
from assay.workloads.user.benchmark_class import BenchmarkClass

# Of the largest output: a number halfway between two bytes may fall to either side, and what
# follows goes with it.
BYTES = 0.05
SPLITS = ("test", "tune")
AT_ONCE = 250  # pictures made ready and written: a split of large ones would fill the memory


def compile_model(
    model: Annotated[Any, Argument("MODEL")],
    output: Annotated[
        str | Path, Flag("Folder to write to.", "FOLDER", flags="-o --output")
    ] = "build",
    weights: Weights = "",
    params: Annotated[
        Mapping[str, Value] | None,
        Flag("Parameter of MODEL.", "NAME=VALUE", flags="--set", read="pairs"),
    ] = None,
    kernels: Annotated[
        Kernels,
        Flag("auto: oneDNN, where it is installed, beside our own; portable: our own only."),
    ] = "auto",
    portable: Annotated[
        bool,
        Flag("Build for any CPU of this architecture; the program uses the best code it can run."),
    ] = False,
    kernel: Annotated[
        Mapping[str, str] | None,
        Flag(
            "Compute a layer by this kernel (direct, winograd-4x3, onednn, …), not by the "
            "quickest.",
            "LAYER=NAME",
            read="pairs",
        ),
    ] = None,
    knobs: Mapping[str, int] | str | Path | None = None,
    items: Sequence[Any] = (),
    data: Annotated[
        str | Path,
        Flag(
            "Inputs from which int8 finds its ranges: the file that was given to assay tune.",
            "FILE.npz",
        ),
    ] = "",
) -> Compiled:
    """Build a program named after the model in the folder `output`, once its outputs are right.

    `kernel` forces kernels on layers, as {"conv2d_1": "direct"}; the others have the quickest.
    `knobs` computes layers with less work, as {"conv2d_1": 13}, or as a configuration file says
    (FILE, or FILE:NAME for one of several); int8 finds its ranges from `items`, a batch for each
    input, from `data`, the .npz file that it was tuned with, or from the tune pictures of a model
    that knows its own.

    >>> assay.compile_model("alexnet2", "build", weights="alexnet2.npz").program
    PosixPath('build/alexnet2')
    >>> assay.compile_model("resnet18.onnx", "build").judge
    'ONNX Runtime'
    """
    as_choice(kernels, "kernels", get_args(Kernels))
    tools = toolchain(kernels, portable)  # what is lacking is told before a model is built
    given = CompileRequest(
        model=model if isinstance(model, str) else "",
        weights=str(weights),
        params=params or {},
        kernels=kernels,
        portable=portable,
        kernel=kernel or {},
    )
    found = captured(model, weights, params)
    held = items or ((calibration_items(str(data), found.graph),) if data else ())
    wanted = calibrated(model, found.graph, knobs or {}, held)
    made = native_compile.built_model(found.graph, tools, replace(wanted, kernel=kernel or {}))
    judge, difference = _judged(made, found, bool(wanted.knobs))
    placed = native_compile.placed(made, output, judge, difference)
    if not wanted.knobs:
        take_configurations(placed, found.graph, given)
    return placed


def _judged(made: BuiltModel, found: CapturedModel, knobs: bool) -> tuple[str, float]:
    """Who judged the outputs, and how far off they are; with knobs, the reference computes them."""
    answers, rounding = found.answers, found.rounding
    if knobs:
        answers = answers_of(made.graph, answers.inputs)
        rounded = any(is_rounded(node) for node in made.graph.nodes)
        rounding = (lambda: BYTES / UNLUCKY) if rounded else rounding
    name, names = made.emitted.name, found.graph.outputs
    return answers.judge, max(
        agreement(name, names, outputs, answers.outputs, answers.judge, rounding)
        for outputs in made.outputs(answers.inputs).values()
    )


def write_data(model: str, made: Compiled, folder: Path) -> str:
    """The pictures and labels of a model that knows its own, as its program `made` reads them.

    What is lacking for it, in words; "" if it was written, or the model knows none.
    """
    if Path(model).suffix in (*MODEL_FILES, ".onnx"):
        return ""
    case = parse_case(model)
    workload = registry.workload(case.workload)
    if isinstance(workload, BenchmarkClass):
        return _class_data(model, made, folder)
    if not isinstance(workload, WithExamples):
        return ""
    data = str(case.params.get("data", "own"))
    try:
        found = {split: workload.examples(data, split) for split in SPLITS}
    except NotPossibleError as error:
        return f"{error} {error.hint}"
    for split, examples in found.items():
        shape = _laid(examples.ready(examples.inputs[:1]), made).shape[1:]
        if [value.shape for value in made.inputs] != [shape]:
            return f"its {split} set has items of {shape}, but the program takes {made.takes}"
    folder.mkdir(exist_ok=True)
    (folder / "layout.txt").write_text(f"{made.takes}\n")
    for split, examples in found.items():
        _write_inputs(examples, made, folder / f"{split}_input.bin")
        _put(folder / f"{split}_labels.bin", [np.asarray(examples.labels, np.uint32)])
    return ""


def _class_data(model: str, made: Compiled, folder: Path) -> str:
    """Only its own methods know its pictures, and they are called in a process of their own."""
    model_of(model, data=folder)
    size = os.path.getsize(folder / "test_input.bin")
    each = 4 * math.prod(made.inputs[0].shape) * os.path.getsize(folder / "test_labels.bin") // 4
    if size != each:
        return f"its test set has {size} bytes of items, but the program takes {made.takes}"
    (folder / "layout.txt").write_text(f"{made.takes}\n")
    return ""


def _write_inputs(examples: Examples, made: Compiled, path: Path) -> None:
    """HPVM's form: float32, channels first, one picture after the other."""
    rows = range(0, len(examples.labels), AT_ONCE)
    ready = (examples.ready(examples.inputs[row : row + AT_ONCE]) for row in rows)
    _put(path, (_laid(part, made) for part in ready))


def _laid(items: Any, made: Compiled) -> np.ndarray[Any, Any]:
    """Examples have their channels last; what is no picture has none to move."""
    found = np.asarray(items, np.float32)
    return np.moveaxis(found, -1, 1) if made.inputs[0].layout and found.ndim == 4 else found


def _put(path: Path, parts: Iterable[np.ndarray[Any, Any]]) -> None:
    with written_whole(path) as temporary, open(temporary, "wb") as file:
        for part in parts:
            file.write(np.ascontiguousarray(part).tobytes())


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

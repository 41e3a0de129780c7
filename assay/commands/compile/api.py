"""Compile a model (a name, a file or an object) to a program for this machine."""

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
from assay.core.files import user_file, user_path, write_user_file
from assay.core.messages import MODEL_FILES
from assay.core.options import Argument, Flag, Weights
from assay.core.records import Value
from assay.core.sessions import Examples
from assay.core.units import as_choice
from assay.measure.compiler.capture import CapturedModel, capture_by_name, capture_model
from assay.measure.compiler.splits import calibrate_knobs, calibration_items
from assay.native import compile as native_compile
from assay.native.agreement import OUTLIER_FACTOR, agreement, model_agreement, rounding
from assay.native.compile import BuiltModel, InstalledProgram
from assay.native.expected import compute_reference
from assay.native.graph import Graph
from assay.native.hpvm.dataflow import line_names
from assay.native.hpvm.lowering import dataflow
from assay.native.knobs.simulated import is_rounded
from assay.native.toolchain import Kernels, toolchain
from assay.workloads.user.benchmark_class import BenchmarkClass

# Share of the largest output: a value halfway between two bytes may be rounded either way, which
# later layers amplify.
BYTE_TOLERANCE = 0.05
SPLITS = ("test", "tune")
BATCH_IMAGES = 250  # images prepared and written: a split of large ones would fill the memory


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
        Flag("auto: oneDNN if installed, plus assay's own kernels; portable: only assay's own."),
    ] = "auto",
    portable: Annotated[
        bool,
        Flag("Build for any CPU of this architecture; the program uses the best code it can run."),
    ] = False,
    kernel: Annotated[
        Mapping[str, str] | None,
        Flag(
            "Force a kernel for a layer (direct, winograd-4x3, onednn, …).",
            "LAYER=NAME",
            read="pairs",
        ),
    ] = None,
    knobs: Mapping[str, int] | str | Path | None = None,
    items: Sequence[Any] = (),
    data: Annotated[
        str | Path,
        Flag(
            "Calibration inputs for int8: the file that was passed to assay tune.",
            "FILE.npz",
        ),
    ] = "",
) -> InstalledProgram:
    """Build a program named after the model in the folder `output`, once its outputs are right.

    `kernel` forces kernels on layers, as {"conv2d_1": "direct"}; the others get the fastest.
    `knobs` approximates layers, as {"conv2d_1": 13}, or by a configuration file (FILE, or FILE:NAME
    for one of several); int8 is calibrated on `items`, a batch for each input, on `data`, the .npz
    file that it was tuned with, or on the tune images of a model that has its own.

    >>> assay.compile_model("alexnet2", "build", weights="alexnet2.npz").program
    PosixPath('build/alexnet2')
    >>> assay.compile_model("resnet18.onnx", "build").judge
    'ONNX Runtime'
    """
    kernels = as_choice(kernels, "kernels", get_args(Kernels))
    tools = toolchain(kernels, portable)  # fails before a model is built
    request = CompileRequest(
        model=model if isinstance(model, str) else "",
        weights=str(weights),
        params=params or {},
        kernels=kernels,
        portable=portable,
        kernel=kernel or {},
    )
    captured_model = capture_model(model, weights, params)
    calibration = items or ((calibration_items(str(data), captured_model.graph),) if data else ())
    calibrated = calibrate_knobs(model, captured_model.graph, knobs or {}, calibration)
    built = native_compile.compile_graph(
        captured_model.graph, tools, replace(calibrated, kernel=kernel or {})
    )
    reference, difference = _check_outputs(built, captured_model, bool(calibrated.knobs))
    compiled = native_compile.install(built, output, reference, difference)
    if not calibrated.knobs:
        take_configurations(compiled, captured_model.graph, request)
    return compiled


def _check_outputs(
    built: BuiltModel, captured_model: CapturedModel, knobs: bool
) -> tuple[str, float]:
    """The reference of the outputs, and the largest difference from it."""
    expected = captured_model.expected
    name, outputs = built.emitted.name, captured_model.graph.outputs
    if not knobs:
        programs = built.outputs(expected.inputs).values()
        graph = captured_model.graph
        return expected.judge, max(model_agreement(name, graph, p, expected) for p in programs)
    inputs = expected.first().inputs
    expected = compute_reference(built.graph, inputs)
    rounded = any(is_rounded(node) for node in built.graph.nodes)

    def share() -> float:
        if rounded:
            return BYTE_TOLERANCE / OUTLIER_FACTOR
        return rounding(captured_model.graph, inputs)

    return expected.judge, max(
        agreement(name, outputs, each, expected.outputs, expected.judge, share)
        for each in built.outputs(inputs).values()
    )


def write_data(model: str, compiled: InstalledProgram, folder: Path) -> str:
    """Write the images and labels of a model that has its own, in the form its program reads.

    Returns what is missing as a sentence; "" if written, or if the model has none.
    """
    if Path(model).suffix in (*MODEL_FILES, ".onnx"):
        return ""
    case = parse_case(model)
    workload = registry.workload(case.workload)
    if isinstance(workload, BenchmarkClass):
        return _class_data(model, compiled, folder)
    if not isinstance(workload, WithExamples):
        return ""
    data = str(case.params.get("data", "own"))
    try:
        sets = {split: workload.examples(data, split) for split in SPLITS}
    except NotPossibleError as error:
        return f"{error} {error.hint}"
    for split, examples in sets.items():
        shape = _to_channels_first(examples.ready(examples.inputs[:1]), compiled).shape[1:]
        if [value.shape for value in compiled.inputs] != [shape]:
            return f"its {split} set has items of {shape}, but the program takes {compiled.takes}"
    folder.mkdir(exist_ok=True)
    write_user_file(folder / "layout.txt", f"{compiled.takes}\n".encode())
    for split, examples in sets.items():
        _write_inputs(examples, compiled, folder / f"{split}_input.bin")
        _write_arrays(folder / f"{split}_labels.bin", [np.asarray(examples.labels, np.uint32)])
    return ""


def _class_data(model: str, compiled: InstalledProgram, folder: Path) -> str:
    """Its own methods provide the images, called in a separate process."""
    capture_by_name(model, data=folder)
    size = os.path.getsize(folder / "test_input.bin")
    expected = (
        4 * math.prod(compiled.inputs[0].shape) * os.path.getsize(folder / "test_labels.bin") // 4
    )
    if size != expected:
        return f"its test set has {size} bytes of items, but the program takes {compiled.takes}"
    write_user_file(folder / "layout.txt", f"{compiled.takes}\n".encode())
    return ""


def _write_inputs(examples: Examples, compiled: InstalledProgram, path: Path) -> None:
    """HPVM's form: float32, channels first, image by image."""
    rows = range(0, len(examples.labels), BATCH_IMAGES)
    ready = (examples.ready(examples.inputs[row : row + BATCH_IMAGES]) for row in rows)
    _write_arrays(path, (_to_channels_first(part, compiled) for part in ready))


def _to_channels_first(items: Any, compiled: InstalledProgram) -> np.ndarray[Any, Any]:
    """Examples are channels-last; only images have channels to move."""
    array = np.asarray(items, np.float32)
    return np.moveaxis(array, -1, 1) if compiled.inputs[0].layout and array.ndim == 4 else array


def _write_arrays(path: Path, parts: Iterable[np.ndarray[Any, Any]]) -> None:
    with user_file(path) as temporary, open(temporary, "wb") as file:
        for part in parts:
            file.write(np.ascontiguousarray(part).tobytes())


# Variables of folders that a compilation depends on.
KEPT_VARIABLES = ("ASSAY_DATA", "ASSAY_HOME", "XDG_CACHE_HOME")


class CompileRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of a compilation, to repeat it."""

    model: str = ""  # "": it has no name
    weights: str = ""
    params: Mapping[str, Value] = {}
    kernels: Kernels = "auto"
    portable: bool = False
    kernel: Mapping[str, str] = {}


def take_configurations(compiled: InstalledProgram, graph: Graph, request: CompileRequest) -> None:
    """For the program's -c: `NAME.lines`, which a configuration has to have, where HPVM has
    operations for the network; and `NAME.configs/build`, which it starts for one that is not built
    yet, where the model has a name."""
    lines, folder = (
        compiled.program.with_name(compiled.program.name + end) for end in (".lines", ".configs")
    )
    try:
        write_user_file(lines, line_names(dataflow(graph)).encode())
    except UsageError:
        return lines.unlink(missing_ok=True)
    if folder.exists():
        shutil.rmtree(folder)  # of the program that was here before
    if request.model:
        folder.mkdir()
        write_user_file(folder / "build", "\n".join(command_words(request)).encode())


def command_words(request: CompileRequest) -> list[str]:
    """The command line that compiles it; paths do not depend on where it is started."""
    variables = [
        f"{name}={os.path.abspath(os.environ[name])}"
        for name in KEPT_VARIABLES
        if os.environ.get(name)
    ]
    words = ["/usr/bin/env", *variables, sys.executable, "-P", "-m", "assay", "compile"]
    words += [_absolute_path(request.model), "--program-only", "--kernels", request.kernels]
    if request.weights:
        words += ["--weights", str(user_path(request.weights).absolute())]
    words += ["--portable"] * request.portable
    for flag, values in (("--set", request.params), ("--kernel", request.kernel)):
        for name, value in values.items():
            words += [flag, f"{name}={value}"]
    return words


def _absolute_path(model: str) -> str:
    """A file, or a name in a file, from the root on; a workload's name as it is."""
    file, colon, name = model.partition(".py:")
    if colon:
        return f"{user_path(file + '.py').absolute()}:{name}"
    is_file = Path(model).suffix in (*MODEL_FILES, ".onnx")
    return str(user_path(model).absolute()) if is_file else model

"""A Keras model, by name or as it is, made into a program for this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay import capturing, native, plan, registry
from assay.contracts import Examples
from assay.errors import NotPossibleError, UsageError
from assay.native.compiled import Compiled
from assay.native.compiler import Kernels, toolchain
from assay.records import Value

SPLITS = ("test", "tune")
AT_ONCE = 250  # pictures made ready and written: a split of large ones would fill the memory


def compile_model(
    model: Any,  # noqa: ANN401 (a name, a file, a keras.Model or a Graph)
    output: str | Path = "build",
    weights: str | Path = "",
    params: Mapping[str, Value] | None = None,
    kernels: Kernels = "auto",
    portable: bool = False,
) -> Compiled:
    """Build a program named after the model in the folder `output`.

    >>> assay.compile_model("alexnet2", "build", weights="alexnet2.npz").program
    PosixPath('build/alexnet2')
    """
    if isinstance(model, str):
        toolchain(kernels, portable)  # what is lacking is told before a model is built
        model = capturing.graph_of(model, weights, params)
    elif weights or params:
        raise UsageError(
            "A model that is built already was given with weights or parameters for it.",
            hint="Load the weights into it, or give its name.",
        )
    return native.compile_model(model, output, kernels, portable)


def write_data(model: str, folder: Path) -> str:
    """The pictures and labels of a model that knows its own, as the program reads them.

    What is lacking for it, in words; "" if it was written, or the model knows none.
    """
    if Path(model).suffix in capturing.MODELS:
        return ""
    case = plan.parse_case(model)
    offered = getattr(registry.workload(case.workload), "examples", None)
    if offered is None:
        return ""
    try:
        found = {split: offered(str(case.params.get("data", "own")), split) for split in SPLITS}
    except NotPossibleError as error:
        return f"{error} {error.hint}"
    folder.mkdir(exist_ok=True)
    for split, examples in found.items():
        _write_inputs(examples, folder / f"{split}_input.bin")
        _put(folder / f"{split}_labels.bin", [np.asarray(examples.labels, np.uint32)])
    return ""


def _write_inputs(examples: Examples, path: Path) -> None:
    """HPVM's form: float32, channels first, one picture after the other."""
    rows = range(0, len(examples.labels), AT_ONCE)
    ready = (examples.ready(examples.inputs[row : row + AT_ONCE]) for row in rows)
    _put(path, (np.moveaxis(np.asarray(part, np.float32), -1, 1) for part in ready))


def _put(path: Path, parts: Iterable[np.ndarray[Any, Any]]) -> None:
    """Whole, or not at all."""
    temporary = path.with_name(f".{path.name}.part")
    with open(temporary, "wb") as file:
        for part in parts:
            file.write(np.ascontiguousarray(part).tobytes())
    temporary.replace(path)

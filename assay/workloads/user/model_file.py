"""A model file as a workload: `model.onnx`, `program.pt2`, `model.keras`.

Inputs are made from the shapes in the file. Free axes are parameters; the first axis of the first
input is the batch.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.files import user_path
from assay.core.records import Value
from assay.core.sessions import Builder, Job
from assay.formats import onnx_header
from assay.formats.onnx_header import FLOATING, ModelInput
from assay.workloads.user import _archives


def version_of(path: Path, beside: Sequence[Path] = ()) -> str:
    """A digest of the file and of other files of the model, `beside` it."""
    digests = [_digest(each) for each in (path, *beside)]
    digest = hashlib.sha256("".join(digests).encode()).hexdigest() if beside else digests[0]
    return digest[:12]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ModelFile(msgspec.Struct, frozen=True, kw_only=True):
    """Common to all formats; `build` makes the job."""

    path: Path
    kind: str
    build: Callable[[ModelFile, Mapping[str, Value]], Job]
    summary: str
    inputs: tuple[ModelInput, ...]
    usual: Mapping[str, int] = {}  # default sizes of free axes
    inference_only: str = ""
    facts: Mapping[str, Value] = {}
    beside: tuple[Path, ...] = ()  # other files of the model
    trust: bool = False  # the user lets its file run code

    @property
    def source(self) -> str:
        return str(self.path)

    @property
    def version(self) -> str:
        return version_of(self.path, self.beside)

    @property
    def params(self) -> Mapping[str, Value]:
        """A free axis is 0 until the user sets it."""
        free = {name: self.usual.get(name, 0) for name in axes(self.inputs)}
        return {"batch_size": self._batch() or 1, **free, "seed": 0}

    @property
    def choices(self) -> Mapping[str, Sequence[Value]]:
        return {"batch_size": (self._batch(),)} if self._batch() else {}

    @property
    def kinds(self) -> Mapping[str, Builder]:
        return {self.kind: lambda **params: self.build(self, params)}

    def trusted(self) -> ModelFile:
        return msgspec.structs.replace(self, trust=True)

    def refuses(self, kind: str, params: Mapping[str, Value]) -> str:
        unsaid = [name for name in axes(self.inputs) if not params.get(name)]
        if not unsaid:
            return ""
        line = ",".join(f"{name}=128" for name in unsaid)
        return (
            f"the file leaves open how long {' and '.join(unsaid)} "
            f"{'are' if len(unsaid) > 1 else 'is'}; say it, as in {self.path.name}:{line}"
        )

    def _batch(self) -> int:
        """The fixed batch size of the file; 0: free."""
        first = self.inputs[0].sizes[:1] if self.inputs else ()
        return first[0] if first and isinstance(first[0], int) else 0


def from_model_file(name: str) -> ModelFile:
    path = user_path(name)
    if not path.is_file():
        raise UsageError(f"There is no file {name}.", hint="Give the path of a model file.")
    # Do not resolve links: other files of the model are beside the link.
    return _READ[path.suffix](path.absolute())


def _onnx(path: Path) -> ModelFile:
    header = onnx_header.read(path)
    return ModelFile(
        path=path,
        kind="onnx",
        build=_onnx_job,
        summary=f"an ONNX file of opset {header.opset}",
        inputs=header.inputs,
        inference_only="an ONNX file cannot be trained",
        facts={"opset": header.opset, "parameters": header.parameters},
        beside=header.external_files,
    )


def _program(path: Path) -> ModelFile:
    inputs, usual = _archives.program_inputs(path)
    return ModelFile(
        path=path,
        kind="torch",
        build=_program_job,
        summary="a program of torch.export",
        inputs=inputs,
        usual=usual,
        inference_only="a program of torch.export was exported to infer",
    )


def _keras(path: Path) -> ModelFile:
    return ModelFile(
        path=path,
        kind="keras",
        build=_keras_job,
        summary="a model saved by Keras",
        inputs=_archives.keras_inputs(path),
    )


_READ: dict[str, Callable[[Path], ModelFile]] = {
    ".onnx": _onnx,
    ".pt2": _program,
    ".keras": _keras,
}
SUFFIXES = tuple(_READ)


def axes(inputs: Sequence[ModelInput]) -> tuple[str, ...]:
    """Names of free axes except the batch, each once."""
    batch = batch_axis(inputs)
    names = [
        axis_name(model_input, axis)
        for model_input in inputs
        for axis, size in enumerate(model_input.sizes)
        if isinstance(size, str) and not _is_batch(size, axis, batch)
    ]
    return tuple(dict.fromkeys(names))


def batch_axis(inputs: Sequence[ModelInput]) -> str | None:
    """The file's name of the first axis of its first input; None if its size is fixed."""
    first = inputs[0].sizes[0] if inputs and inputs[0].sizes else None
    return first if isinstance(first, str) else None


def axis_name(model_input: ModelInput, axis: int) -> str:
    """The file's name, else one of the input and the axis' number."""
    name = re.sub(r"\W+", "_", str(model_input.sizes[axis])).strip("_")
    return name or re.sub(r"\W+", "_", f"{model_input.name}_{axis}")


def shape(
    model_input: ModelInput, params: Mapping[str, Value], batch: str | None
) -> tuple[int, ...]:
    return tuple(
        size
        if isinstance(size, int)
        else int(
            params["batch_size" if _is_batch(size, axis, batch) else axis_name(model_input, axis)]
        )
        for axis, size in enumerate(model_input.sizes)
    )


def make_inputs(inputs: Sequence[ModelInput], params: Mapping[str, Value]) -> dict[str, Any]:
    """Floats in [-1, 1); tokens below the table's rows; other integers are 1, which is valid in any
    mask."""
    import numpy as np

    random = np.random.default_rng([int(params["seed"]), 1])
    batch = batch_axis(inputs)
    arrays: dict[str, Any] = {}
    for model_input in inputs:
        size = shape(model_input, params, batch)
        if model_input.dtype in FLOATING:
            arrays[model_input.name] = (random.random(size, np.float32) * 2 - 1).astype(
                model_input.dtype
            )
        elif model_input.upper_bound:
            arrays[model_input.name] = random.integers(0, model_input.upper_bound, size).astype(
                model_input.dtype
            )
        else:
            arrays[model_input.name] = np.ones(size, model_input.dtype)
    return arrays


def _is_batch(size: str, axis: int, batch: str | None) -> bool:
    """The first axis is the batch, also without a name."""
    return batch is not None and size == batch and (bool(size) or axis == 0)


def _onnx_job(file: ModelFile, params: Mapping[str, Value]) -> Job:
    inputs = make_inputs(file.inputs, params)
    return Job(
        model=str(file.path),
        train_batch=(inputs, ()),
        items=len(next(iter(inputs.values()))) if inputs and file.inputs[0].sizes else 1,
        trains=False,
        as_given=True,
        facts=file.facts,
    )


def _program_job(file: ModelFile, params: Mapping[str, Value]) -> Job:
    from assay.workloads.user import _torch_program

    batch = batch_axis(file.inputs)
    shapes = [shape(model_input, params, batch) for model_input in file.inputs]
    return _torch_program.job(str(file.path), shapes, file.trust)


def _keras_job(file: ModelFile, params: Mapping[str, Value]) -> Job:
    from assay.workloads.user import keras_file

    return keras_file.job(str(file.path), make_inputs(file.inputs, params), int(params["seed"]))

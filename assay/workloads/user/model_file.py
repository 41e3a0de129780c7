"""A model file as a workload: `model.onnx`, `program.pt2`, `model.keras`.

Its inputs are made from the shapes the file states. Axes whose size it leaves free are parameters;
the first axis of the first input is the batch.
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
    """Another file, another version; `beside` it may lie others that belong to it."""
    digests = [_digest(each) for each in (path, *beside)]
    whole = hashlib.sha256("".join(digests).encode()).hexdigest() if beside else digests[0]
    return whole[:12]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ModelFile(msgspec.Struct, frozen=True, kw_only=True):
    """What every sort of file has in common; `build` makes a job of it for its kind."""

    path: Path
    kind: str
    build: Callable[[ModelFile, Mapping[str, Value]], Job]
    summary: str
    inputs: tuple[ModelInput, ...]
    usual: Mapping[str, int] = {}  # sizes of free axes that the file suggests
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
        """A free axis is 0 until someone says how long it is."""
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
        """The batch that is written down in the file; 0: it is free."""
        first = self.inputs[0].sizes[:1] if self.inputs else ()
        return first[0] if first and isinstance(first[0], int) else 0


def from_model_file(name: str) -> ModelFile:
    path = user_path(name)
    if not path.is_file():
        raise UsageError(f"There is no file {name}.", hint="Give the path of a model file.")
    # A link stays one: what belongs to the model lies beside the link.
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
        beside=header.beside,
    )


def _program(path: Path) -> ModelFile:
    inputs, usual = _archives.program(path)
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
    """Names of the parameters that free axes are, but the batch, each once."""
    batch = batch_axis(inputs)
    found = [
        axis_name(one, place)
        for one in inputs
        for place, size in enumerate(one.sizes)
        if isinstance(size, str) and not _is_batch(size, place, batch)
    ]
    return tuple(dict.fromkeys(found))


def batch_axis(inputs: Sequence[ModelInput]) -> str | None:
    """What the file calls the first axis of its first input; None if it is of one size."""
    first = inputs[0].sizes[0] if inputs and inputs[0].sizes else None
    return first if isinstance(first, str) else None


def axis_name(one: ModelInput, place: int) -> str:
    """The file's own name for it, else the input's and the axis' number."""
    named = re.sub(r"\W+", "_", str(one.sizes[place])).strip("_")
    return named or re.sub(r"\W+", "_", f"{one.name}_{place}")


def shape(one: ModelInput, params: Mapping[str, Value], batch: str | None) -> tuple[int, ...]:
    return tuple(
        size
        if isinstance(size, int)
        else int(params["batch_size" if _is_batch(size, place, batch) else axis_name(one, place)])
        for place, size in enumerate(one.sizes)
    )


def made_inputs(inputs: Sequence[ModelInput], params: Mapping[str, Value]) -> dict[str, Any]:
    """Numbers in [-1, 1); tokens below the table's rows; ones where nothing is known of integers,
    which every mask is fine with."""
    import numpy as np

    random = np.random.default_rng([int(params["seed"]), 1])
    batch = batch_axis(inputs)
    found: dict[str, Any] = {}
    for one in inputs:
        size = shape(one, params, batch)
        if one.dtype in FLOATING:
            found[one.name] = (random.random(size, np.float32) * 2 - 1).astype(one.dtype)
        elif one.below:
            found[one.name] = random.integers(0, one.below, size).astype(one.dtype)
        else:
            found[one.name] = np.ones(size, one.dtype)
    return found


def _is_batch(size: str, place: int, batch: str | None) -> bool:
    """An axis without a name is the batch where it is the first."""
    return batch is not None and size == batch and (bool(size) or place == 0)


def _onnx_job(file: ModelFile, params: Mapping[str, Value]) -> Job:
    inputs = made_inputs(file.inputs, params)
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
    shapes = [shape(one, params, batch) for one in file.inputs]
    return _torch_program.job(str(file.path), shapes, file.trust)


def _keras_job(file: ModelFile, params: Mapping[str, Value]) -> Job:
    from assay.workloads.user import keras_file

    return keras_file.job(str(file.path), made_inputs(file.inputs, params), int(params["seed"]))

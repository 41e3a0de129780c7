"""A compiled ONNX file is compared with ONNX Runtime once; the outcome is cached."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path

import msgspec

from assay.core.errors import AssayError
from assay.core.files import user_path, write_user_file
from assay.formats import onnx_header
from assay.native.agreement import model_agreement
from assay.native.build import ModelFiles, default_cache
from assay.native.compile import compile_graph
from assay.native.graph import Shape
from assay.native.onnx.read import import_onnx, onnx_reference
from assay.native.toolchain import Kernels, toolchain


class FileCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome; `problem` is a sentence, "" if the outputs agree."""

    judge: str = ""
    difference: float = 0.0  # largest, as a share of the largest output
    problem: str = ""
    hint: str = ""


class CheckRequest(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    shapes: Mapping[str, tuple[int, ...]]  # of the inputs, with the batch
    kernels: Kernels
    outcome: str  # the file to write


def check_file(path: str, shapes: Mapping[str, Shape], kernels: Kernels) -> FileCheck:
    """Compare the program, which is built if need be, with ONNX Runtime's outputs."""
    try:
        imported = import_onnx(path, shapes)
        expected = onnx_reference(path, imported)
        model = compile_graph(imported.graph, toolchain(kernels))
        outputs = model.outputs(expected.inputs).values()
        difference = max(
            model_agreement(model.built.name, imported.graph, each, expected) for each in outputs
        )
    except AssayError as error:
        problem = str(error).removesuffix("; nothing was written.").removesuffix(".") + "."
        return FileCheck(problem=problem, hint=error.hint)
    return FileCheck(judge=expected.judge, difference=difference)


def outcome_path(path: str, built: ModelFiles) -> Path:
    """Where the outcome is cached: by digest of the file, its weights, the build and the version of
    ONNX Runtime."""
    place = user_path(path)
    files = (place, *onnx_header.read(place).external_files)
    parts = [*map(_digest, files), built.folder.name, importlib.metadata.version("onnxruntime")]
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    return default_cache() / "checks" / f"{name}.json"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_outcome(outcome: FileCheck, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_user_file(path, msgspec.json.encode(outcome))


def read_outcome(path: Path) -> FileCheck | None:
    """None if there is none, or one that cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=FileCheck)
    except (OSError, msgspec.DecodeError):
        return None

"""Before an ONNX file is measured on native, its outputs are compared with ONNX Runtime's, once."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from assay.core import start
from assay.core.errors import EndingError
from assay.native.build import ModelFiles
from assay.native.onnx.file_check import CheckRequest, FileCheck, outcome_path, read_outcome
from assay.native.toolchain import Kernels


def check_once(
    path: str, shapes: Mapping[str, tuple[int, ...]], built: ModelFiles, kernels: Kernels
) -> str:
    """What the outputs were checked with, as a fact; raises if they are wrong."""
    if not importlib.util.find_spec("onnxruntime"):
        return "no: onnxruntime is not installed"
    place = outcome_path(path, built)
    cached = read_outcome(place)
    outcome = cached or _check_in_process(path, shapes, kernels, place)
    if outcome.problem:
        raise EndingError("failed", f"{outcome.problem} {outcome.hint}".strip())
    return f"{outcome.judge}, difference {outcome.difference:.1e}{', cached' if cached else ''}"


def _check_in_process(
    path: str, shapes: Mapping[str, tuple[int, ...]], kernels: Kernels, place: Path
) -> FileCheck:
    request = CheckRequest(path=path, shapes=shapes, kernels=kernels, outcome=str(place))
    process = subprocess.run(
        [*start.command("assay.worker.check_onnx"), msgspec.json.encode(request).decode()],
        env=os.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    outcome = read_outcome(place)
    if outcome is None:
        lines = process.stderr.decode(errors="replace").strip().splitlines() or ["no word"]
        raise EndingError("failed", f"its outputs could not be checked: {lines[-1]}")
    return outcome

"""Run a built program on items in files."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from assay.core.errors import AssayError
from assay.native.build import ModelFiles
from assay.native.emit import ModelSource
from assay.native.graph import Array


def program_outputs(
    built: ModelFiles, emitted: ModelSource, items: Sequence[Array], kernels: str, *more: str
) -> list[Array]:
    """Outputs for items in the model's own order; kernels are guessed, not timed.

    `more` are further arguments of the program.
    """
    with tempfile.TemporaryDirectory(prefix="assay-trial-") as folder:
        write_items(Path(folder), emitted, items)
        return run_on_data(built, emitted, Path(folder), "--kernels", kernels, *more)


def write_items(folder: Path, emitted: ModelSource, items: Sequence[Array]) -> None:
    """Write a program's data files; all labels are 0."""
    for number, (batch, last) in enumerate(zip(items, emitted.channels_last, strict=True)):
        channels_first = np.moveaxis(batch, -1, 1) if last else batch
        path = numbered_path(folder / "test_input.bin", number)
        np.ascontiguousarray(channels_first, emitted.inputs[number].dtype).tofile(path)
    np.zeros(len(items[0]), np.uint32).tofile(folder / "test_labels.bin")


def run_on_data(
    built: ModelFiles,
    emitted: ModelSource,
    data: Path,
    *more: str,
    variables: Mapping[str, str] | None = None,
) -> list[Array]:
    """Outputs for the items in `data`; `variables` are added to the program's environment."""
    with tempfile.TemporaryDirectory(prefix="assay-trial-") as folder:
        words = ("--data", str(data), "--outputs", "outputs.bin", "--choose", "0", "--threads", "1")
        run_program(built, (*words, *more), Path(folder), variables)
        arrays = (
            np.fromfile(numbered_path(Path(folder) / "outputs.bin", number), np.float32)
            for number in range(len(emitted.outputs))
        )
        shapes = zip(arrays, emitted.outputs, strict=True)
        return [array.reshape(-1, *shape) for array, shape in shapes]


def run_program(
    built: ModelFiles,
    arguments: Sequence[str],
    folder: Path,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run the program in `folder` and return its standard output."""
    process = subprocess.run(
        [built.program, *arguments],
        cwd=folder,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        message = process.stderr.strip().removeprefix("error: ") or f"status {process.returncode}"
        raise AssayError(f"{built.name} was built, but does not run: {message}")
    return process.stdout


def numbered_path(path: Path, number: int) -> Path:
    """Path of a program's n-th input or output file."""
    return path if number == 0 else path.with_name(f"{path.name}.{number + 1}")

"""A program just built, tried on some items as a user would: by files, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from assay.core.errors import AssayError
from assay.native.build import Built
from assay.native.emit import Emitted
from assay.native.graph import Array


def program_outputs(
    built: Built, emitted: Emitted, items: Sequence[Array], kernels: str, *more: str
) -> list[Array]:
    """Items are in the model's own order; kernels are guessed, as timing would take its time.

    `more` is said to the program too.
    """
    with tempfile.TemporaryDirectory(prefix="assay-trial-") as folder:
        write_items(Path(folder), emitted, items)
        return outputs_of(built, emitted, Path(folder), "--kernels", kernels, *more)


def write_items(folder: Path, emitted: Emitted, items: Sequence[Array]) -> None:
    """As a program's data files; the labels are all 0."""
    for number, (each, last) in enumerate(zip(items, emitted.channels_last, strict=True)):
        laid = np.moveaxis(each, -1, 1) if last else each
        path = numbered(folder / "test_input.bin", number)
        np.ascontiguousarray(laid, emitted.inputs[number].dtype).tofile(path)
    np.zeros(len(items[0]), np.uint32).tofile(folder / "test_labels.bin")


def outputs_of(
    built: Built,
    emitted: Emitted,
    data: Path,
    *more: str,
    variables: Mapping[str, str] | None = None,
) -> list[Array]:
    """Of the items in the folder `data`; `variables` are in the program's environment."""
    with tempfile.TemporaryDirectory(prefix="assay-trial-") as folder:
        words = ("--data", str(data), "--outputs", "outputs.bin", "--choose", "0", "--threads", "1")
        run_program(built, (*words, *more), Path(folder), variables)
        found = (
            np.fromfile(numbered(Path(folder) / "outputs.bin", number), np.float32)
            for number in range(len(emitted.outputs))
        )
        shapes = zip(found, emitted.outputs, strict=True)
        return [array.reshape(-1, *shape) for array, shape in shapes]


def run_program(
    built: Built, words: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None
) -> str:
    """What it prints; it is run in a folder of the caller's."""
    ended = subprocess.run(
        [built.program, *words],
        cwd=folder,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        said = ended.stderr.strip().removeprefix("error: ") or f"status {ended.returncode}"
        raise AssayError(f"{built.name} was built, but does not run: {said}")
    return ended.stdout


def numbered(path: Path, number: int) -> Path:
    """The file of a program's first input or output, and those of the others."""
    return path if number == 0 else path.with_name(f"{path.name}.{number + 1}")

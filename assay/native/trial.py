"""A program just built, tried on some items as a user would: by files, in a folder of its own."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
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
    count = len(items[0])
    with tempfile.TemporaryDirectory(prefix="assay-trial-") as folder:
        place = Path(folder)
        for number, (each, last) in enumerate(zip(items, emitted.channels_last, strict=True)):
            laid = np.moveaxis(each, -1, 1) if last else each
            path = numbered(place / "test_input.bin", number)
            np.ascontiguousarray(laid, emitted.inputs[number].dtype).tofile(path)
        np.zeros(count, np.uint32).tofile(place / "test_labels.bin")
        words = ["--data", folder, "--outputs", "outputs.bin", "--choose", "0"]
        ended = subprocess.run(
            [built.program, *words, "--kernels", kernels, "--threads", "1", *more],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            said = ended.stderr.strip().removeprefix("error: ") or f"status {ended.returncode}"
            raise AssayError(f"{emitted.name} was built, but does not run: {said}")
        return [
            np.fromfile(numbered(place / "outputs.bin", number), np.float32).reshape(count, *shape)
            for number, shape in enumerate(emitted.outputs)
        ]


def numbered(path: Path, number: int) -> Path:
    """The file of a program's first input or output, and those of the others."""
    return path if number == 0 else path.with_name(f"{path.name}.{number + 1}")

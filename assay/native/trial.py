"""A program just built, tried on some items as a user would: by files, in a folder of its own."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from assay.core.errors import AssayError
from assay.native.build import Built
from assay.native.emit import Emitted
from assay.native.graph import Array


def program_outputs(built: Built, emitted: Emitted, items: Array, kernels: str) -> Array:
    """Items are in the model's own order; kernels are guessed, as timing would take its time."""
    laid = np.moveaxis(items, -1, 1) if emitted.channels_last else items
    with tempfile.TemporaryDirectory(prefix="assay-trial-") as folder:
        place = Path(folder)
        np.ascontiguousarray(laid, np.float32).tofile(place / "test_input.bin")
        np.zeros(len(items), np.uint32).tofile(place / "test_labels.bin")
        words = ["--data", folder, "--outputs", "outputs.bin", "--choose", "0"]
        ended = subprocess.run(
            [built.program, *words, "--kernels", kernels, "--threads", "1"],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            said = ended.stderr.strip().removeprefix("error: ") or f"status {ended.returncode}"
            raise AssayError(f"{emitted.name} was built, but does not run: {said}")
        found = np.fromfile(place / "outputs.bin", np.float32)
    return found.reshape(len(items), *emitted.output_shape)

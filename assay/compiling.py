"""A Keras model, by name or as it is, made into a program for this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay import capturing, native
from assay.errors import UsageError
from assay.native.compiled import Compiled
from assay.native.compiler import Kernels, toolchain
from assay.records import Value


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

"""Load a model saved by Keras, with inputs, and labels that fit its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from assay.core.errors import UsageError
from assay.core.sessions import Job


def job(path: str, inputs: Mapping[str, Any], seed: int) -> Job:
    model = load_model(path)
    if not inputs:
        return Job(model=model)  # the backend makes inputs from its shapes
    random = np.random.default_rng([seed, 2])
    smallest_table = min((layer.input_dim for layer in _embeddings(model)), default=0)
    if smallest_table:
        inputs = {name: _tokens(array, smallest_table, random) for name, array in inputs.items()}
    arrays = tuple(inputs.values())
    outputs = model.outputs
    if len(outputs) > 1:
        return Job(model=model, train_batch=(arrays, ()), items=len(arrays[0]), trains=False)
    *positions, classes = model.compute_output_shape(_shapes(arrays))
    labels = random.integers(0, classes, positions).astype(np.int32)
    return Job(
        model=model,
        train_batch=(arrays[0] if len(arrays) == 1 else arrays, labels),
        items=len(arrays[0]),
        as_given=True,
    )


def load_model(path: str) -> Any:
    try:
        return keras.models.load_model(path, compile=False)
    # errors of Keras, h5py and zipfile for a file without a complete model
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        first = str(error).strip().partition("\n")[0].rstrip(".")
        raise UsageError(
            f"Keras cannot load a model from {path} ({first}).",
            hint="A file of weights alone goes with its model: MODEL --weights FILE.",
        ) from None


def _embeddings(model: Any) -> list[Any]:
    return [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.Embedding)]


def _tokens(array: Any, limit: int, random: Any) -> Any:
    """Random integers below the rows of the smallest table; other inputs unchanged."""
    if np.issubdtype(array.dtype, np.floating):
        return array
    return random.integers(0, limit, array.shape).astype(array.dtype)


def _shapes(arrays: tuple[Any, ...]) -> Any:
    shapes = [array.shape for array in arrays]
    return shapes[0] if len(shapes) == 1 else shapes

"""A training that was cut short, kept and taken up again: weights, optimizer, what was told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.errors import UsageError
from assay.core.files import written_whole

History = list[dict[str, float]]  # what every epoch told


def write(path: Path, model: Any, history: History) -> None:  # noqa: ANN401 (a keras.Model)
    """Written whole or not at all."""
    with written_whole(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, history=json.dumps(history), **_values(model))


def read(path: Path, model: Any) -> History:  # noqa: ANN401
    """Put the state back into a model that is compiled; what its epochs told."""
    with np.load(path, allow_pickle=False) as kept:
        model.optimizer.build(model.trainable_variables)
        variables = _variables(model)
        if any(
            name not in kept or kept[name].shape != tuple(own.shape)
            for name, own in variables.items()
        ):
            raise UsageError(
                f"{path} is the checkpoint of another training.", hint="Start it again."
            )
        for name, own in variables.items():
            own.assign(kept[name])
        found: History = json.loads(str(kept["history"]))
        return found


def _values(model: Any) -> dict[str, Any]:  # noqa: ANN401
    import keras

    return {name: keras.ops.convert_to_numpy(own) for name, own in _variables(model).items()}


def _variables(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """Of the network and the optimizer; the pictures, which are no result, are left out."""
    network = [own for own in model.variables if own.name != "pictures"]
    state = [*network, *model.optimizer.variables]
    return {f"v{number}": own for number, own in enumerate(state)}

"""The calibration items of a tuning, stored next to its configurations."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.core.corrupt import DAMAGED_HINT
from assay.core.errors import UsageError
from assay.core.files import atomic_path, user_path
from assay.native.graph import Array, Graph

FILE = "calibration.npy"


def save_items(folder: Path, items: Array) -> Path:
    """Write the items of a model with one input; images are channels first."""
    path = folder / FILE
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.save(file, items)
    return path


def has_items(config: str | Path) -> bool:
    """Whether there are calibration items next to this configuration file."""
    return (user_path(config).parent / FILE).is_file()


def load_items(config: str | Path, graph: Graph) -> tuple[Array, ...]:
    """The items next to this configuration file, in the graph's layout; () if there are none."""
    if not has_items(config):
        return ()
    path = user_path(config).parent / FILE
    items = _read(path)
    value = graph.inputs[0]
    if value.layout == "channels_last" and items.ndim == 4:
        items = np.moveaxis(items, 1, -1)
    if len(graph.inputs) > 1 or not len(items) or items.shape[1:] != value.shape:
        raise UsageError(
            f"{path} holds items of {items.shape[1:]}, but {graph.name} takes {value.shape}.",
            hint="The configurations next to it are of another model: tune this one.",
        )
    return (np.ascontiguousarray(items, np.float32),)


def _read(path: Path) -> Array:
    try:
        items: Array = np.load(path, allow_pickle=False)
        return items
    except DAMAGED_HINT as error:
        raise UsageError(
            f"{path} is no array of items ({error}).", hint="Tune again, or delete it."
        ) from None

"""A captured model kept for the other processes of a run, which then need no Keras.

Building and capturing a model takes Keras' import and the making of its weights: most of what
opening such a case costs. What is kept is all a session takes: graph, batch, facts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.core import codec
from assay.core.files import user_file
from assay.core.records import Case, Value
from assay.core.settings import SHARED_CACHE

if TYPE_CHECKING:
    from assay.backends.captured.fold_backends_captured_backend import Captured


class _CapturedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All of a captured model but its graph and its batch."""

    items: int
    parameters: int
    channels_first: bool
    said: dict[str, Value]
    inputs: int  # how many arrays


def captured_once(case: Case, capture: Callable[[], Captured]) -> Captured:
    """From the run's cache, if another process has left it there; else captured, and left there."""
    place = os.environ.get(SHARED_CACHE)
    if not place:
        return capture()
    folder = Path(place) / f"captured-{_key(case)}"
    if (folder / "kept.json").is_file():  # written last
        return _read(folder)
    found = capture()
    _write(found, folder)
    return found


def _key(case: Case) -> str:
    """Of what decides the model and its batch; each checkout captures for itself."""
    request = (case.workload, case.params, case.options["data_format"], __file__)
    return hashlib.sha256(msgspec.json.encode(request, order="deterministic")).hexdigest()[:24]


def _write(found: Captured, folder: Path) -> None:
    import numpy as np

    from assay.native import files

    folder.mkdir(exist_ok=True)
    files.write(found.graph, folder / "graph.npz")
    with user_file(folder / "batch.npz") as temporary, open(temporary, "wb") as file:
        np.savez(file, *found.inputs)
    kept = _CapturedRecord(
        items=found.items,
        parameters=found.parameters,
        channels_first=found.channels_first,
        said=dict(found.said),
        inputs=len(found.inputs),
    )
    with user_file(folder / "kept.json") as temporary:
        temporary.write_bytes(codec.encode(kept))


def _read(folder: Path) -> Captured:
    import numpy as np

    from assay.backends.captured.fold_backends_captured_backend import Captured
    from assay.native import files

    kept = codec.decode_part((folder / "kept.json").read_bytes(), _CapturedRecord)
    with np.load(folder / "batch.npz", allow_pickle=False) as batch:
        inputs = tuple(batch[f"arr_{number}"] for number in range(kept.inputs))
    return Captured(
        graph=files.read(folder / "graph.npz"),
        inputs=inputs,
        items=kept.items,
        parameters=kept.parameters,
        channels_first=kept.channels_first,
        said=kept.said,
    )

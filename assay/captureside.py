"""The process that loads Keras to capture a model: `python -m assay.captureside FOLDER`.

It reads `asked.json` there and leaves `graph.npz`, or `refused.json` with the reason in words.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from assay import registry
from assay.backends import engines
from assay.capturing import MODELS, Asked, Refused
from assay.errors import AssayError, EndingError, UsageError
from assay.native import files
from assay.native.capture import capture


def main() -> None:
    folder = Path(sys.argv[1])
    asked = msgspec.json.decode((folder / "asked.json").read_bytes(), type=Asked)
    try:
        model = _model(asked)
        if asked.weights:
            from assay.weights import _keras

            _keras.load(model, asked.weights)
        files.write(capture(model, _name(asked)), folder / "graph.npz")
    except AssayError as error:
        _refuse(folder, Refused(sentence=str(error), hint=error.hint, status=error.status))
    except EndingError as error:  # what a workload lacks, such as trained weights
        _refuse(folder, Refused(sentence=f"{asked.model} cannot be built: {error.reason}."))


def _refuse(folder: Path, refused: Refused) -> None:
    (folder / "refused.json").write_bytes(msgspec.json.encode(refused))


def _name(asked: Asked) -> str:
    """What a file is called without its suffix, or the name after the colon."""
    if Path(asked.model).suffix in MODELS:
        return Path(asked.model).stem
    return asked.model.rpartition(":")[2]


def _model(asked: Asked) -> Any:  # noqa: ANN401 (a keras.Model)
    if Path(asked.model).suffix in MODELS:
        return _loaded(asked.model)
    return registry.workload(asked.model).kinds[engines.KIND](**asked.params).model


def _loaded(path: str) -> Any:  # noqa: ANN401
    import keras

    try:
        return keras.models.load_model(path, compile=False)
    # what Keras, h5py and zipfile raise over a file that holds no model, or not all of it
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        first = str(error).strip().partition("\n")[0].rstrip(".")
        raise UsageError(
            f"Keras cannot load a model from {path} ({first}).",
            hint="A file of weights alone goes with its model: MODEL --weights FILE.",
        ) from None


if __name__ == "__main__":
    main()

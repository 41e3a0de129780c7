"""The process that loads Keras to capture a model: `python -m assay.worker.capture FOLDER`.

It reads `asked.json` there and leaves `graph.npz` and `answers.npz`, what Keras makes of some
items; or `refused.json` with the reason in words.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from assay import registry
from assay.backends.keras import engines
from assay.core.errors import AssayError, EndingError
from assay.core.messages import MODEL_FILES, CaptureRefused, CaptureRequest
from assay.native import answers, files
from assay.native.capture import answers as asked_of_keras
from assay.native.capture import capture

SEED = 0


def main() -> None:
    folder = Path(sys.argv[1])
    request = msgspec.json.decode((folder / "asked.json").read_bytes(), type=CaptureRequest)
    try:
        model = _model(request)
        if request.weights:
            from assay.weights import _keras

            _keras.load(model, request.weights)
        with engines.without_tensorflow():
            graph = capture(model, _name(request))
        answers.write(asked_of_keras(model, graph), folder / "answers.npz")
        files.write(graph, folder / "graph.npz")
    except AssayError as error:
        _refuse(folder, CaptureRefused(sentence=str(error), hint=error.hint, status=error.status))
    except EndingError as error:  # what a workload lacks, such as trained weights
        _refuse(
            folder, CaptureRefused(sentence=f"{request.model} cannot be built: {error.reason}.")
        )


def _refuse(folder: Path, refused: CaptureRefused) -> None:
    (folder / "refused.json").write_bytes(msgspec.json.encode(refused))


def _name(request: CaptureRequest) -> str:
    """What a file is called without its suffix, or the name after the colon."""
    if Path(request.model).suffix in MODEL_FILES:
        return Path(request.model).stem
    return request.model.rpartition(":")[2]


def _model(request: CaptureRequest) -> Any:  # noqa: ANN401 (a keras.Model)
    if Path(request.model).suffix in MODEL_FILES:
        from assay.workloads.user import _keras_file

        return _keras_file.loaded(request.model)
    engines.set_seed(SEED)  # so that a file's model is the same one each time
    return registry.workload(request.model).kinds[engines.KIND](**request.params).model


if __name__ == "__main__":
    main()

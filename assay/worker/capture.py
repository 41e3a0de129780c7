"""The process that loads Keras to capture a model: `python -m assay.worker.capture FOLDER`.

It reads `asked.json` there and writes `graph.npz` and `answers.npz`, the reference outputs of some
items; or `refused.json` with the reason.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.backends.keras import engines
from assay.core import registry
from assay.core.errors import AssayError, EndingError, UsageError
from assay.core.messages import MODEL_FILES, CaptureRefused, CaptureRequest
from assay.core.records import arguments
from assay.core.sessions import Job
from assay.native import expected, files
from assay.native.capture import capture
from assay.native.capture import reference_outputs as asked_of_keras
from assay.native.hpvm.frontend import ImageSet, write_images

SEED = 0
AT_ONCE = 250  # images prepared and written at a time, which limits memory


def main() -> None:
    folder = Path(sys.argv[1])
    request = msgspec.json.decode((folder / "asked.json").read_bytes(), type=CaptureRequest)
    try:
        job = _job(request)
        model = job.model
        if request.weights:
            _weights().load(model, request.weights)
        with engines.hide_tensorflow():
            graph = capture(model, _name(request))
        if request.data:
            _write_data(job, Path(request.data))
        if request.save:
            _weights().save(model, request.save)
        expected.write(asked_of_keras(model, graph), folder / "answers.npz")
        files.write(graph, folder / "graph.npz")
    except AssayError as error:
        _refuse(folder, CaptureRefused(sentence=str(error), hint=error.hint, status=error.status))
    except EndingError as error:  # something is missing, such as trained weights
        _refuse(
            folder, CaptureRefused(sentence=f"{request.model} cannot be built: {error.reason}.")
        )


def _refuse(folder: Path, refused: CaptureRefused) -> None:
    (folder / "refused.json").write_bytes(msgspec.json.encode(refused))


def _name(request: CaptureRequest) -> str:
    """The file's name without suffix, or the name after the colon."""
    if Path(request.model).suffix in MODEL_FILES:
        return Path(request.model).stem
    return request.model.rpartition(":")[2]


def _job(request: CaptureRequest) -> Job:
    if Path(request.model).suffix in MODEL_FILES:
        from assay.workloads.user import keras_file

        return Job(model=keras_file.load_model(request.model))
    engines.set_seed(SEED)  # so that a file's model is the same one each time
    workload = registry.workload(request.model)
    return workload.kinds[engines.KIND](**arguments(request.params, workload.params))


def _weights() -> Any:
    from assay.weights import keras as _keras

    return _keras


def _write_data(job: Job, folder: Path) -> None:
    """Write its test and tune images, channels first, and their labels."""
    if job.eval_data is None:
        raise UsageError(
            "This model has no images to evaluate it on.", hint="Give a class that loads some."
        )
    for split in ("test", "tune"):
        examples = job.eval_data(split, 0)
        rows = range(0, len(examples.labels), AT_ONCE)
        ready = (np.asarray(examples.ready(examples.inputs[at : at + AT_ONCE])) for at in rows)
        parts = (np.moveaxis(part, -1, 1) if part.ndim == 4 else part for part in ready)
        write_images(split, ImageSet(labels=examples.labels, parts=parts), folder)


if __name__ == "__main__":
    main()

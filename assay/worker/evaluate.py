"""In the worker: a model's predictions for every example of a split, and counts of correct ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import EndingError
from assay.core.messages import Evaluate, LateFacts, Reported, Response
from assay.core.records import Samples
from assay.core.sessions import Examples, Job, PredictingSession, Session

TOP = 5
MANY = 1000  # classes from which on top-5 is counted too

Predict = Callable[[Any], Any]


def evaluate(request: Evaluate, session: Session, job: Job) -> Iterator[Response]:
    """Counts of each batch, then facts of the data; classes are written to `request.file`."""
    if not isinstance(session, PredictingSession):
        raise EndingError("skipped", "this backend cannot be given other inputs to evaluate")
    if job.eval_data is None:
        raise EndingError("skipped", "this workload has no data to be evaluated on")
    examples = job.eval_data(request.split, request.first)
    batches = [
        _count_correct(outputs, labels)
        for outputs, labels in _batches(session.predict, examples, session.items)
    ]
    with open(request.file, "wb") as file:
        np.save(file, np.concatenate([classes for classes, _ in batches]))
    for metric in batches[0][1]:
        values = tuple(float(counts[metric]) for _, counts in batches)
        yield Reported(samples=Samples(metric=metric, unit="items", phase="steady", values=values))
    facts = {"split": request.split, "count": len(examples.labels), **examples.facts}
    yield LateFacts(facts=facts)


def _batches(
    predict: Predict, examples: Examples, size: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Outputs and labels. The last batch is padded: another shape would have to be compiled."""
    count = len(examples.labels)
    for start in range(0, count, size):
        rows = np.arange(start, start + size).clip(0, count - 1)
        labels = examples.labels[start : start + size]
        outputs = np.asarray(predict(examples.ready(examples.inputs[rows])))[: len(labels)]
        _check(outputs, labels, start)
        yield outputs, labels


def _count_correct(
    outputs: NDArray[Any], labels: NDArray[Any]
) -> tuple[NDArray[Any], dict[str, int]]:
    """Predicted classes and counts of correct ones; of equal outputs the first counts."""
    classes = outputs.shape[1]
    predicted = outputs.argmax(1).astype(np.uint8 if classes <= 256 else np.uint16)
    counts = {"evaluated": len(labels), "correct": int((predicted == labels).sum())}
    if classes >= MANY:
        best = np.argpartition(outputs, -TOP, axis=1)[:, -TOP:]
        counts["top5_correct"] = int((best == labels[:, None]).any(1).sum())
    return predicted, counts


def _check(outputs: NDArray[Any], labels: NDArray[Any], start: int) -> None:
    if outputs.ndim != 2:
        raise EndingError(
            "failed", f"the model gave outputs of shape {outputs.shape}, not a row of classes each"
        )
    wrong = (labels < 0) | (labels >= outputs.shape[1])
    if wrong.any():
        at = int(wrong.argmax())
        raise EndingError(
            "failed",
            f"label {labels[at]} of example {start + at} is out of range: "
            f"the model has classes 0 to {outputs.shape[1] - 1}",
        )
    if not np.isfinite(outputs).all():
        raise EndingError("failed", "the model's outputs are not all finite: are its weights?")

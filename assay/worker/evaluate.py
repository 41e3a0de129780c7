"""In the worker: a model's predictions for every example of a split, and how many are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import EndingError
from assay.core.messages import Answer, Evaluate, LateFacts, Reported
from assay.core.records import Samples
from assay.core.sessions import Examples, Job, PredictingSession, Session

TOP = 5  # also counted where there are so many classes that the first guess says little
MANY = 1000

Predict = Callable[[Any], Any]


def evaluated(order: Evaluate, session: Session, job: Job) -> Iterator[Answer]:
    """Counts of each batch, then what they were taken on; the classes are in `order.file`."""
    if not isinstance(session, PredictingSession):
        raise EndingError("skipped", "this backend cannot be given other inputs to evaluate")
    if job.eval_data is None:
        raise EndingError("skipped", "this workload has no data to be evaluated on")
    examples = job.eval_data(order.split, order.first)
    counted = [
        _counted(outputs, labels)
        for outputs, labels in _batches(session.predict, examples, session.items)
    ]
    with open(order.file, "wb") as file:
        np.save(file, np.concatenate([classes for classes, _ in counted]))
    for metric in counted[0][1]:
        values = tuple(float(counts[metric]) for _, counts in counted)
        yield Reported(samples=Samples(metric=metric, unit="items", phase="steady", values=values))
    facts = {"split": order.split, "count": len(examples.labels), **examples.facts}
    yield LateFacts(facts=facts)


def _batches(
    predict: Predict, examples: Examples, size: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Outputs and labels. The last batch is filled up: another shape would be compiled anew."""
    count = len(examples.labels)
    for start in range(0, count, size):
        rows = np.arange(start, start + size).clip(0, count - 1)
        labels = examples.labels[start : start + size]
        outputs = np.asarray(predict(examples.ready(examples.inputs[rows])))[: len(labels)]
        _check(outputs, labels, start)
        yield outputs, labels


def _counted(outputs: NDArray[Any], labels: NDArray[Any]) -> tuple[NDArray[Any], dict[str, int]]:
    """Predicted classes, and how many of them are right; of equal outputs the first counts."""
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

"""What a worker counts: every example once, whatever the batch size, and wrong labels in words."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from assay.core.errors import EndingError
from assay.core.messages import Evaluate, LateFacts, Reported
from assay.core.sessions import Examples, Job
from assay.worker.evaluate import evaluate


class Echo:
    """A model whose outputs are its inputs; it minds that every batch has the same shape."""

    def __init__(self, items: int) -> None:
        self.items, self.shapes = items, set()

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        self.shapes.add(inputs.shape)
        return inputs


def told(session: object, labels: np.ndarray, outputs: np.ndarray, folder) -> tuple[dict, dict]:
    """Metric → values of each batch, and the facts."""
    job = Job(model=None, eval_data=lambda split, first: Examples(inputs=outputs, labels=labels))
    order = Evaluate(split="test", first=0, file=str(folder / "predictions.npy"))
    *samples, last = evaluate(order, session, job)
    assert isinstance(last, LateFacts) and all(isinstance(one, Reported) for one in samples)
    return {one.samples.metric: one.samples.values for one in samples}, last.facts


def test_every_example_counts_once_and_the_last_batch_has_the_shape_of_the_others(tmp_path):
    outputs = np.eye(4, dtype=np.float32)[[0, 1, 2, 3, 3]]
    session = Echo(items=2)

    found, facts = told(session, np.array([0, 1, 2, 0, 3]), outputs, tmp_path)

    assert found == {"evaluated": (2, 2, 1), "correct": (2, 1, 1)}
    assert session.shapes == {(2, 4)}
    assert facts["count"] == 5
    assert np.load(tmp_path / "predictions.npy").tolist() == [0, 1, 2, 3, 3]
    assert np.load(tmp_path / "predictions.npy").dtype == np.uint8


def test_of_a_thousand_classes_the_best_five_count_too(tmp_path):
    outputs = np.zeros((2, 1000), np.float32)
    outputs[:, :6] = [6, 5, 4, 3, 2, 1]

    found, _ = told(Echo(items=2), np.array([4, 5]), outputs, tmp_path)

    assert found["correct"] == (0,)
    assert found["top5_correct"] == (1,)


@pytest.mark.parametrize(
    "labels, outputs, words",
    [
        (
            [0, 7],
            np.eye(2, 4),
            "label 7 of example 1 is out of range: the model has classes 0 to 3",
        ),
        ([0, -1], np.eye(2, 4), "label -1 of example 1"),
        ([0, 1], np.full((2, 4), np.nan), "not all finite"),
        ([0, 1], np.zeros((2, 4, 4)), r"outputs of shape \(2, 4, 4\)"),
    ],
)
def test_what_cannot_be_counted_ends_in_words(labels, outputs, words, tmp_path):
    with pytest.raises(EndingError, match=words) as ended:
        told(Echo(items=2), np.array(labels), outputs, tmp_path)

    assert ended.value.status == "failed"


def test_a_backend_or_a_workload_that_cannot_be_evaluated_is_skipped(tmp_path):
    order = Evaluate(split="test", first=0, file=str(tmp_path / "predictions.npy"))

    with pytest.raises(EndingError, match="this backend cannot be given other inputs"):
        list(evaluate(order, SimpleNamespace(items=1), Job(model=None)))
    with pytest.raises(EndingError, match="no data to be evaluated on"):
        list(evaluate(order, Echo(1), Job(model=None)))

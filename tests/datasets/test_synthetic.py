"""Images made from a seed."""

from __future__ import annotations

import numpy as np
import pytest

from assay.datasets.library import load
from assay.datasets.synthetic import synthetic


@pytest.mark.parametrize("split", ["train", "test", "tune"])
def test_the_first_pictures_are_the_same_however_many_are_asked_for(split):
    few, many = load("synthetic", split, first=7), load("synthetic", split, first=1203)

    assert np.array_equal(few.inputs, many.inputs[:7])
    assert np.array_equal(few.labels, many.labels[:7])


def test_splits_and_seeds_differ():
    first = load("synthetic", "test", first=5).inputs

    assert not np.array_equal(first, load("synthetic", "train", first=5).inputs)
    assert not np.array_equal(first, load("synthetic", "tune", first=5).inputs)
    assert not np.array_equal(first, load(synthetic(seed=1), "test", first=5).inputs)


def test_shape_and_classes_are_as_asked():
    found = load(synthetic(shape=(28, 28, 1), classes=3), "test")

    assert found.inputs.shape == (5000, 28, 28, 1)
    assert set(found.labels.tolist()) == {0, 1, 2}


def test_classes_can_be_learned():
    """The nearest mean of the training images names the class of most test images."""
    train, test = load("synthetic", "train", first=1000), load("synthetic", "test", first=200)
    means = np.stack([train.inputs[train.labels == c].mean(0) for c in range(10)])
    distances = ((test.inputs[:, None] - means[None]) ** 2).sum((2, 3, 4))

    assert (distances.argmin(1) == test.labels).mean() > 0.95

"""The sets of a tuning, and what is wrong with a user's data."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.measure.compiler.splits import images
from tests.commands.tune import nets


@pytest.fixture(scope="module")
def graph():
    return nets.net()


def held(path, count=1500, **arrays):
    inputs, labels = nets.pictures(count)
    np.savez(path, **(arrays or {"inputs": inputs, "labels": labels}))
    return str(path)


def test_no_picture_is_in_two_sets(tmp_path, graph):
    found = images("mine", held(tmp_path / "a.npz"), graph, 1.0, seed=3)

    sets = [found.calibration, found.choosing.inputs, found.confirming.inputs, found.test.inputs]
    rows = np.concatenate([each.reshape(len(each), -1) for each in sets])
    assert len(np.unique(rows, axis=0)) == len(rows) == 1500
    assert found.counts == {"calibration": 64, "choosing": 229, "confirming": 457, "test": 750}


def test_the_same_seed_gives_the_same_sets(tmp_path, graph):
    path = held(tmp_path / "a.npz")

    one, same, other = (images("mine", path, graph, 1.0, seed) for seed in (1, 1, 2))

    assert np.array_equal(one.confirming.labels, same.confirming.labels)
    assert not np.array_equal(one.confirming.inputs, other.confirming.inputs)


def test_splits_of_a_file_are_kept(tmp_path, graph):
    (tune, classes), (test, others) = nets.pictures(800), nets.pictures(50, seed=9)
    arrays = {"x_tune": tune, "y_tune": classes, "x_test": test, "y_test": others}
    found = images("mine", held(tmp_path / "a.npz", **arrays), graph, 1.0, seed=0)

    assert np.array_equal(found.test.inputs, test)


def test_too_few_pictures_are_told_with_how_many_are_needed(tmp_path, graph):
    path = held(tmp_path / "a.npz", 500)

    with pytest.raises(UsageError, match=r"250 images to tune with.* fewer than 873.*1746 in"):
        images("mine", path, graph, 0.5, seed=0)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"images": np.zeros(3)}, "holds images, but inputs and labels"),
        ({"inputs": np.zeros((900, 3, 3)), "labels": np.zeros(900, int)}, "items of .3, 3., but"),
        ({"inputs": np.zeros((9, 2, 8, 8)), "labels": np.zeros((9, 4))}, "one class number"),
        ({"inputs": np.zeros((900, 2, 8, 8)), "labels": np.full(900, 7)}, "label is 7.* 4 classes"),
    ],
)
def test_data_of_another_form_is_refused(tmp_path, graph, arrays, said):
    path = held(tmp_path / "a.npz", **arrays)

    with pytest.raises(UsageError, match=said):
        images("mine", path, graph, 5.0, seed=0)


def test_a_file_that_is_none_is_refused(tmp_path, graph):
    (tmp_path / "a.npz").write_text("no")

    with pytest.raises(UsageError, match=r"is no \.npz file"):
        images("mine", str(tmp_path / "a.npz"), graph, 1.0, seed=0)
    with pytest.raises(UsageError, match="There is no data file"):
        images("mine", str(tmp_path / "b.npz"), graph, 1.0, seed=0)


def test_a_model_without_pictures_needs_data(graph):
    with pytest.raises(UsageError, match="has no images of its own") as caught:
        images("model.onnx", "", graph, 1.0, seed=0)
    assert "--data" in caught.value.hint

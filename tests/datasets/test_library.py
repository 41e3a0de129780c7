"""Datasets by name: splits, and what is refused in which words."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.datasets.dataset import OpenedDataset, rows, split_sizes
from assay.datasets.library import find, get, load, local_datasets
from tests.datasets.making import SAMPLE, WHOLE, needs_whole


@pytest.fixture
def data(tmp_path, monkeypatch):
    """An empty folder that ASSAY_DATA names."""
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.setenv("ASSAY_DATA", str(folder))
    return folder


@pytest.fixture
def sample(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))


def write_mnist(folder, count=8, **changed):
    arrays = {
        "x_test": np.arange(count * 784, dtype=np.uint8).reshape(count, 28, 28),
        "y_test": np.arange(count, dtype=np.uint8) % 10,
    }
    np.savez(folder / "mnist.npz", **arrays | changed)


def test_unknown_dataset_suggests_the_nearest():
    with pytest.raises(UsageError, match="no dataset named 'cifar-10'") as caught:
        get("cifar-10")

    assert caught.value.hint == "Did you mean 'cifar10'?"


def test_a_dataset_that_is_not_here_says_how_to_get_it(data):
    with pytest.raises(NotPossibleError, match="cifar10 are neither in ASSAY_DATA") as caught:
        load("cifar10", "test")

    assert caught.value.hint == "assay data fetch cifar10"


def test_a_folder_that_is_not_there_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "nowhere"))

    with pytest.raises(UsageError, match="nowhere, but there is no such folder"):
        load("mnist", "test")


def test_the_named_folder_comes_before_the_cache(data, home):
    (home / "data").mkdir(parents=True)
    write_mnist(home / "data", count=6)
    assert len(load("mnist", "test").labels) == 3

    write_mnist(data, count=8)

    assert len(load("mnist", "test").labels) == 4


def test_an_unknown_split_is_refused(sample):
    with pytest.raises(UsageError, match="no split named 'tests'"):
        load("mnist", "tests")


def test_a_split_that_is_not_stored_is_refused(data):
    write_mnist(data)

    with pytest.raises(UsageError, match="has no train images, only test"):
        load("mnist", "train")


@pytest.mark.parametrize(
    "stored, test, tune", [(10000, (0, 5000), (5000, 10000)), (50000, (0, 5000), (45000, 50000))]
)
def test_test_is_the_first_5000_and_tune_the_last_5000(stored, test, tune):
    asked = []
    opened = OpenedDataset(SAMPLE, ("test",), lambda part: stored, lambda *told: asked.append(told))

    assert split_sizes(opened) == {"test": 5000, "tune": 5000}
    assert rows(opened, "test")[1:] == test
    assert rows(opened, "tune")[1:] == tune
    assert not asked


def test_test_and_tune_of_a_small_set_are_its_halves(data):
    write_mnist(data, count=9)

    test, tune = load("mnist", "test"), load("mnist", "tune")

    assert test.labels.tolist() == [0, 1, 2, 3]
    assert tune.labels.tolist() == [5, 6, 7, 8]


@pytest.mark.parametrize("first", [0, -1, 5])
def test_more_pictures_than_there_are_cannot_be_asked_for(data, first):
    write_mnist(data, count=8)

    with pytest.raises(UsageError, match=f"first {first} images of tune.*has 4"):
        load("mnist", "tune", first=first)


def test_labels_out_of_range_are_refused(data):
    write_mnist(data, y_test=np.array([0, 1, 12, 3, 4, 5, 6, 7], np.uint8))

    with pytest.raises(AssayError, match=r"label 12 of image 2 is out of range.*classes 0 to 9"):
        load("mnist", "test")


def test_pictures_of_another_size_are_refused(data):
    write_mnist(data, x_test=np.zeros((8, 32, 32), np.uint8))

    with pytest.raises(AssayError, match=r"images are \(32, 32, 1\).*are \(28, 28, 1\)"):
        load("mnist", "test")


def test_nothing_is_read_before_it_is_asked_for(data):
    (data / "cifar-10-batches-bin").mkdir()
    (data / "cifar-10-batches-bin" / "test_batch.bin").write_bytes(b"cut")

    opened = find(get("cifar10"))

    assert opened.parts == ("test",)
    with pytest.raises(AssayError, match=r"test_batch.bin is cut or wrong: it has 3 bytes"):
        load("cifar10", "test")


def test_what_is_here_and_what_is_not_are_listed(sample):
    found = {one.name: one for one in local_datasets()}

    assert found["mnist"].sizes == {"train": 200, "test": 150, "tune": 150}
    assert found["mnist"].place == str(SAMPLE / "mnist.npz")
    assert found["cifar100"].place == ""
    assert found["model_params/lenet_mnist"].note == "assay data fetch model_params"
    assert "image-net.org" in found["imagenet"].note


def test_a_damaged_dataset_is_listed_with_what_is_wrong(data):
    (data / "mnist.npz").write_bytes(b"PK cut")

    found = {one.name: one for one in local_datasets()}

    assert "mnist.npz is cut or wrong" in found["mnist"].note


@needs_whole
@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_the_sample_is_the_beginning_of_each_split(name, monkeypatch):
    for split in ("train", "test", "tune"):
        monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
        few = load(name, split)
        monkeypatch.setenv("ASSAY_DATA", str(WHOLE))
        whole = load(name, split, first=len(few.labels))

        assert np.array_equal(few.inputs, whole.inputs)
        assert np.array_equal(few.labels, whole.labels)


@needs_whole
@pytest.mark.parametrize("name, train", [("mnist", 60000), ("cifar10", 50000)])
def test_the_whole_data_has_its_known_sizes_and_classes(name, train, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(WHOLE))
    test, tune = load(name, "test"), load(name, "tune")

    assert split_sizes(find(get(name))) == {"train": train, "test": 5000, "tune": 5000}
    assert test.inputs.dtype == np.uint8
    assert sorted(set(test.labels.tolist())) == list(range(10))
    assert not np.array_equal(test.inputs, tune.inputs)

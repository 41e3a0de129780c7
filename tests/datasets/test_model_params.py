"""HPVM's .bin images and labels as a dataset."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.datasets.library import load

LENET = "model_params/lenet_mnist"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Six test and four tune images of LeNet."""
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    place = tmp_path / "model_params" / "lenet_mnist"
    place.mkdir(parents=True)
    for part, count in (("test", 6), ("tune", 4)):
        inputs = np.arange(count * 784, dtype="<f4").reshape(count, 1, 28, 28)
        inputs.tofile(place / f"{part}_input.bin")
        np.arange(count, dtype="<u4").tofile(place / f"{part}_labels.bin")
    return place


def test_test_and_tune_are_as_stored_and_channels_last(folder):
    test, tune = load(LENET, "test"), load(LENET, "tune")

    assert test.inputs.shape == (6, 28, 28, 1)
    assert test.inputs.dtype == np.float32
    assert tune.labels.tolist() == [0, 1, 2, 3]


def test_channels_are_moved_not_mixed(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    place = tmp_path / "model_params" / "alexnet_cifar10"
    place.mkdir(parents=True)
    stored = np.arange(2 * 3072, dtype="<f4").reshape(2, 3, 32, 32)
    for part in ("test", "tune"):
        stored.tofile(place / f"{part}_input.bin")
        np.zeros(2, "<u4").tofile(place / f"{part}_labels.bin")

    found = load("model_params/alexnet_cifar10", "test")

    assert found.inputs[1, 5, 7, 2] == stored[1, 2, 5, 7]


def test_the_first_so_many_are_read_alone(folder):
    found = load(LENET, "test", first=2)

    assert found.inputs.shape == (2, 28, 28, 1)
    assert found.inputs[1, 0, 0, 0] == 784


@pytest.mark.parametrize("file", ["test_input.bin", "tune_labels.bin"])
def test_a_missing_file_is_named(folder, file):
    (folder / file).unlink()

    with pytest.raises(AssayError, match=f"lenet_mnist is cut or wrong: it has no {file}"):
        load(LENET, "test")


def test_cut_pictures_are_refused(folder):
    file = folder / "test_input.bin"
    file.write_bytes(file.read_bytes()[:-4])

    with pytest.raises(AssayError, match="has 18812 bytes, but 6 labels need 18816 bytes"):
        load(LENET, "test")


def test_cut_labels_are_refused(folder):
    (folder / "test_labels.bin").write_bytes(bytes(21))

    with pytest.raises(AssayError, match="has 21 bytes, but a label has four"):
        load(LENET, "test")


def test_labels_out_of_range_are_refused(folder):
    np.full(6, 2**31 + 1, "<u4").tofile(folder / "test_labels.bin")

    with pytest.raises(AssayError, match="of image 0 is out of range"):
        load(LENET, "test")

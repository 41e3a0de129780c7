"""Images in a NumPy archive: only what is asked for is unpacked, and damage is said."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.datasets.npz import archive

FORM = archive("mnist.npz")


@pytest.fixture
def stored(tmp_path):
    random = np.random.default_rng(0)
    arrays = {
        "x_test": random.integers(0, 256, (40, 28, 28), dtype=np.uint8),
        "y_test": random.integers(0, 10, 40).astype(np.uint8),
    }
    np.savez_compressed(tmp_path / "mnist.npz", **arrays)
    return tmp_path, arrays


@pytest.mark.parametrize("start, stop", [(0, 1), (0, 40), (17, 23), (39, 40)])
def test_rows_are_those_of_the_whole_array(stored, start, stop):
    folder, arrays = stored

    found = FORM(folder).read("test", start, stop)

    assert np.array_equal(found.inputs[..., 0], arrays["x_test"][start:stop])
    assert found.labels.tolist() == arrays["y_test"][start:stop].tolist()


def test_what_lies_behind_is_not_unpacked(stored):
    folder, arrays = stored
    file = folder / "mnist.npz"
    with zipfile.ZipFile(file) as found:
        info = found.getinfo("x_test.npy")
    data = bytearray(file.read_bytes())
    near_the_end = info.header_offset + info.compress_size - 100
    data[near_the_end : near_the_end + 50] = bytes(50)
    file.write_bytes(data)

    assert np.array_equal(FORM(folder).read("test", 0, 2).inputs[..., 0], arrays["x_test"][:2])
    with pytest.raises(AssayError, match=r"mnist.npz is cut or wrong"):
        FORM(folder).read("test", 0, 40)


def test_a_cut_archive_is_refused(stored):
    folder, _ = stored
    file = folder / "mnist.npz"
    file.write_bytes(file.read_bytes()[:-100])

    with pytest.raises(AssayError, match=r"mnist\.npz is cut or wrong: .*NumPy archive") as caught:
        FORM(folder)

    assert "assay data fetch" in caught.value.hint


def test_an_archive_of_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "mnist.npz", weights=np.zeros(3))

    with pytest.raises(AssayError, match=r"it holds weights\.npy, but x_test and y_test"):
        FORM(tmp_path)


def test_as_many_labels_as_pictures_are_needed(tmp_path):
    np.savez(tmp_path / "mnist.npz", x_test=np.zeros((4, 28, 28)), y_test=np.zeros(3))

    with pytest.raises(AssayError, match="it has 4 images, but 3 labels"):
        FORM(tmp_path).size("test")


def test_pickled_objects_are_never_loaded(tmp_path):
    labels = np.array([{}, {}], dtype=object)
    np.savez(tmp_path / "mnist.npz", x_test=np.zeros((2, 28, 28), np.uint8), y_test=labels)

    with pytest.raises(AssayError, match="holds Python objects"):
        FORM(tmp_path).read("test", 0, 1)


def test_no_file_is_no_finding(tmp_path):
    assert FORM(tmp_path) is None

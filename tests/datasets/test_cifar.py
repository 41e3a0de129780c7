"""CIFAR in every form it is handed around, whole, cut and hostile."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.datasets import cifar
from assay.datasets.library import find, get
from tests.datasets.making import WHOLE, binary_batch, needs_whole, pictures, python2_batch

FEW = {"train": 20, "test": 20}
PICKLES, BINARY, SHEETS = (replace(form, images_per_file=FEW) for form in cifar.CIFAR10)
PICKLES100, BINARY100 = (replace(form, images_per_file=FEW) for form in cifar.CIFAR100)


def write(folder, name, files):
    place = folder / name
    place.mkdir()
    for file, data in files.items():
        (place / file).write_bytes(data)
    return place


@pytest.fixture
def python_version(tmp_path):
    inputs, labels = pictures(40)
    batches = {
        f"data_batch_{n + 1}": python2_batch(inputs[n * 20 :][:20], labels[n * 20 :][:20])
        for n in range(2)
    }
    write(tmp_path, "cifar-10-batches-py", batches)
    return tmp_path, inputs, labels


def test_the_python_version_is_read_over_its_files(python_version):
    folder, inputs, labels = python_version

    found = PICKLES(folder).read("train", 15, 30)

    assert np.array_equal(found.inputs, inputs[15:30])
    assert found.labels.tolist() == labels[15:30].tolist()


def test_only_the_batches_needed_are_opened(python_version):
    folder, inputs, _ = python_version
    (folder / "cifar-10-batches-py" / "data_batch_2").write_bytes(b"broken")

    assert np.array_equal(PICKLES(folder).read("train", 0, 20).inputs, inputs[:20])


def test_a_missing_batch_is_named(python_version):
    folder, _, _ = python_version

    with pytest.raises(AssayError, match=r"cifar-10-batches-py.*has no data_batch_3"):
        PICKLES(folder).read("train", 40, 41)


def test_a_cut_batch_is_refused(python_version):
    folder, _, _ = python_version
    file = folder / "cifar-10-batches-py" / "data_batch_1"
    file.write_bytes(file.read_bytes()[:-50])

    with pytest.raises(AssayError, match="data_batch_1 is cut or wrong: unpickling it failed"):
        PICKLES(folder).read("train", 0, 1)


def test_a_batch_with_too_few_pictures_is_refused(tmp_path):
    write(tmp_path, "cifar-10-batches-py", {"test_batch": python2_batch(*pictures(19))})

    with pytest.raises(AssayError, match=r"data \(19, 3072\).*20 images of 3072 bytes"):
        PICKLES(tmp_path).read("test", 0, 1)


def test_a_batch_rewritten_by_python_3_is_read_too(tmp_path):
    inputs, labels = pictures(20)
    data = inputs.transpose(0, 3, 1, 2).reshape(20, -1)
    batch = pickle.dumps({b"data": data, b"labels": labels.tolist()}, protocol=2)
    write(tmp_path, "cifar-10-batches-py", {"test_batch": batch})

    assert np.array_equal(PICKLES(tmp_path).read("test", 3, 5).inputs, inputs[3:5])


class Hostile:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_hostile_pickle_runs_nothing(tmp_path, protocol):
    mark = tmp_path / "ran"
    batch = pickle.dumps({b"data": Hostile(mark)}, protocol=protocol)
    write(tmp_path, "cifar-10-batches-py", {"test_batch": batch})

    with pytest.raises(AssayError, match=r"test_batch needs .*only contain") as caught:
        PICKLES(tmp_path).read("test", 0, 1)

    assert not mark.exists()
    assert "hostile" in caught.value.hint


def test_a_pickle_cannot_reach_code_through_the_names_allowed(tmp_path):
    batch = b"\x80\x02c_codecs\nencode\n(X\x01\x00\x00\x00aX\x04\x00\x00\x00utf7tR."
    write(tmp_path, "cifar-10-batches-py", {"test_batch": batch})

    with pytest.raises(AssayError, match="bytes encoded as 'utf7'"):
        PICKLES(tmp_path).read("test", 0, 1)


@pytest.mark.parametrize("name", ["cifar-10-batches-bin", "cifar-10-binary"])
def test_the_binary_version_is_read(tmp_path, name):
    inputs, labels = pictures(20)
    write(tmp_path, name, {"test_batch.bin": binary_batch(inputs, labels)})

    found = BINARY(tmp_path).read("test", 5, 9)

    assert np.array_equal(found.inputs, inputs[5:9])
    assert found.labels.tolist() == labels[5:9].tolist()


@pytest.mark.parametrize("lost", [1, 3073])
def test_a_cut_binary_file_is_refused_wherever_it_is_cut(tmp_path, lost):
    data = binary_batch(*pictures(20))[:-lost]
    write(tmp_path, "cifar-10-binary", {"test_batch.bin": data})

    with pytest.raises(AssayError, match=f"has {len(data)} bytes, but 20 records"):
        BINARY(tmp_path).read("test", 0, 1)


def test_cifar100_has_fine_labels(tmp_path):
    inputs, fine = pictures(20, classes=100)
    coarse = fine // 5
    write(tmp_path, "cifar-100-python", {"test": python2_batch(inputs, fine, b"fine_labels")})
    write(tmp_path, "cifar-100-binary", {"test.bin": binary_batch(inputs, coarse, fine)})

    for form in (PICKLES100, BINARY100):
        found = form(tmp_path).read("test", 0, 20)
        assert np.array_equal(found.inputs, inputs)
        assert found.labels.tolist() == fine.tolist()


def test_the_forms_of_the_catalog_expect_whole_files():
    assert [form.images_per_file["test"] for form in (*cifar.CIFAR10, *cifar.CIFAR100)] == [
        10000
    ] * 5
    assert [form.images_per_file["train"] for form in cifar.CIFAR100] == [50000] * 2


@pytest.mark.real("PIL")
def test_sheets_are_read_tile_by_tile(tmp_path):
    from PIL import Image

    place = tmp_path / "cifar10"
    place.mkdir()
    inputs = np.random.default_rng(0).integers(0, 256, (10000, 32, 32, 3), dtype=np.uint8)
    sheet = inputs.reshape(100, 100, 32, 32, 3).transpose(0, 2, 1, 3, 4).reshape(3200, 3200, 3)
    Image.fromarray(sheet).save(place / "train_2.webp", format="bmp")  # quicker than webp
    labels = np.arange(50000, dtype=np.uint16) % 10
    np.savez(place / "labels.npz", train=labels, test=labels[:10000])

    found = cifar.CIFAR10[2](tmp_path).read("train", 10101, 10113)

    assert np.array_equal(found.inputs, inputs[101:113])
    assert found.labels.tolist() == labels[10101:10113].tolist()


@pytest.mark.real("PIL")
def test_a_cut_sheet_is_refused(tmp_path):
    write(tmp_path, "cifar10", {"test.webp": b"RIFF\x00\x00\x00\x00WEBPVP8L cut"})

    with pytest.raises(AssayError, match=r"test\.webp is cut or wrong: .*100 x 100 images"):
        SHEETS(tmp_path).read("test", 0, 1)


@needs_whole
@pytest.mark.real("PIL")
def test_the_whole_sheets_are_cifar10(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(WHOLE))

    found = find(get("cifar10")).read("train", 0, 10000)

    assert np.bincount(found.labels).tolist() == [
        *(1005, 974, 1032, 1016, 999),
        *(937, 1030, 1001, 1025, 981),
    ]  # data_batch_1, as its labels are known

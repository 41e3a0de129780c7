"""CIFAR-10 and CIFAR-100 in their published forms: pickles, binary files, sheets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.corrupt import damage_error, explain_read_errors
from assay.core.errors import NotPossibleError
from assay.datasets.batches import Batches
from assay.datasets.dataset import Images
from assay.datasets.npz import member_rows
from assay.datasets.pickles import load_arrays

SIDE = 32
PIXELS = 3 * SIDE * SIDE
GRID = 100  # images in a row, and in a column, of a sheet


def read_pickle_rows(path: Path, count: int, start: int, stop: int) -> Images:
    """Rows of a batch of the Python version."""
    batch = load_arrays(path)
    data, labels = batch.get(b"data"), batch.get(b"fine_labels", batch.get(b"labels"))
    expected = f"{count} images of {PIXELS} bytes with a label each were expected"
    if not isinstance(data, np.ndarray) or not isinstance(labels, list | np.ndarray):
        raise damage_error(path, "it has no data and labels", expected)
    if data.shape != (count, PIXELS) or data.dtype != np.uint8 or len(labels) != count:
        content = f"it has data {data.shape} of {data.dtype} and {len(labels)} labels"
        raise damage_error(path, content, expected)
    return Images(_planes(data[start:stop]), np.asarray(labels[start:stop], np.int32))


def read_binary_rows(path: Path, count: int, start: int, stop: int) -> Images:
    """Rows of a file of the binary version: label bytes (CIFAR-100: coarse, fine), then pixels."""
    size = os.path.getsize(path)
    record = size // count
    if size != record * count or record - PIXELS not in (1, 2):
        expected = f"{count} records of {PIXELS + 1} or {PIXELS + 2} bytes were expected"
        raise damage_error(path, f"it has {size} bytes", expected)
    data = np.fromfile(path, np.uint8, (stop - start) * record, offset=start * record)
    records = data.reshape(-1, record)
    return Images(_planes(records[:, -PIXELS:]), records[:, -PIXELS - 1].astype(np.int32))


def read_sheet_rows(path: Path, count: int, start: int, stop: int) -> Images:
    """Rows of one lossless sheet, GRID x GRID images; labels are in one file in the same folder."""
    with explain_read_errors(path, f"a sheet of {GRID} x {GRID} images was expected"):
        with pillow().open(path) as image:
            sheet = np.asarray(image.convert("RGB"))
        tiles = sheet.reshape(GRID, SIDE, GRID, SIDE, 3).transpose(0, 2, 1, 3, 4)
        inputs = tiles.reshape(count, SIDE, SIDE, 3)[start:stop]
    part, _, number = path.stem.partition("_")
    before = (int(number or 1) - 1) * count  # train_3 comes after train_1 and train_2
    labels = member_rows(path.parent / "labels.npz", part, before + start, before + stop)
    return Images(inputs, labels.astype(np.int32))


def pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise NotPossibleError(
            "Images in .webp or .jpeg files need Pillow, which is not installed.",
            hint="pip install 'assay-lab[data]'",
        ) from None
    return Image


def _planes(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Red, green, blue planes → channels last."""
    return np.ascontiguousarray(data.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1))


_TEN = {"train": 10000, "test": 10000}
_HUNDRED = {"train": 50000, "test": 10000}


def _part_files(pattern: str, test: str) -> dict[str, tuple[str, ...]]:
    return {"train": tuple(pattern.format(n) for n in range(1, 6)), "test": (test,)}


CIFAR10 = (
    Batches(
        ("cifar-10-batches-py",), _part_files("data_batch_{}", "test_batch"), _TEN, read_pickle_rows
    ),
    Batches(
        ("cifar-10-batches-bin", "cifar-10-binary"),
        _part_files("data_batch_{}.bin", "test_batch.bin"),
        _TEN,
        read_binary_rows,
    ),
    Batches(("cifar10",), _part_files("train_{}.webp", "test.webp"), _TEN, read_sheet_rows),
)
CIFAR100 = (
    Batches(
        ("cifar-100-python",), {"train": ("train",), "test": ("test",)}, _HUNDRED, read_pickle_rows
    ),
    Batches(
        ("cifar-100-binary",),
        {"train": ("train.bin",), "test": ("test.bin",)},
        _HUNDRED,
        read_binary_rows,
    ),
)

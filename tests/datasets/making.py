"""Data files as others write them, made small, and where the whole data lies if it is here."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "tests" / "data" / "pictures"
WHOLE = ROOT.parent / "shared" / "data"
needs_whole = pytest.mark.skipif(
    not WHOLE.is_dir(), reason="not applicable: the whole data is not in this repository"
)


def pictures(count: int, classes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Random 32 x 32 images, channels last, and labels."""
    random = np.random.default_rng(count)
    inputs = random.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
    return inputs, random.integers(0, classes, count)


def planes(inputs: np.ndarray) -> np.ndarray:
    """As CIFAR stores them: a row an image, red, green, blue planes."""
    return inputs.transpose(0, 3, 1, 2).reshape(len(inputs), -1)


def python2_batch(inputs: np.ndarray, labels: np.ndarray, key: bytes = b"labels") -> bytes:
    """A pickle as Python 2 wrote CIFAR's batches: text is bytes, and numpy has its old name."""
    data = planes(inputs).tobytes()
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR"
        b"(K\x01(" + _number(len(inputs)) + _number(3072) + b"tcnumpy\ndtype\n(U\x02u1K\x00K\x01tR"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + struct.pack("<i", len(data))
        + data
        + b"tb"
    )
    listed = b"](" + b"".join(_number(int(label)) for label in labels) + b"e"
    return b"\x80\x02}(" + _text(b"data") + array + _text(key) + listed + b"u."


def binary_batch(inputs: np.ndarray, *labels: np.ndarray) -> bytes:
    columns = [np.asarray(one, np.uint8)[:, None] for one in labels]
    return np.concatenate([*columns, planes(inputs)], axis=1).tobytes()


def _text(value: bytes) -> bytes:
    return b"U" + bytes([len(value)]) + value


def _number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)

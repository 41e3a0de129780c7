"""Datasets: images, forms on disk, downloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError, unknown_name_error

SPLITS = ("train", "test", "tune")
MAX_SPLIT = 5000  # images of test and of tune, as in HPVM's benchmarks


class Images(NamedTuple):
    """Inputs with channels last, uint8 or float32 as stored, and a class number for each."""

    inputs: NDArray[Any]
    labels: NDArray[np.int32]


@dataclass(frozen=True)
class Remote:
    """A file to download. Without a published checksum, its content is checked instead."""

    url: str
    file: str  # local name
    checksum: str = ""  # sha256:… or md5:…
    folder: str = ""  # folder in an archive


@dataclass(frozen=True)
class OpenedDataset:
    """A dataset on disk. Nothing is decoded before `read` is called."""

    path: Path
    parts: tuple[str, ...]  # train, test, or other stored parts
    size: Callable[[str], int]  # part → number of images
    read: Callable[[str, int, int], Images]  # part, first row, end row


Form = Callable[[Path], OpenedDataset | None]  # folder → its dataset in this form, if any


@dataclass(frozen=True)
class Dataset:
    name: str
    summary: str
    classes: int
    shape: tuple[int, int, int]  # of one image, channels last
    preparation: str  # rule of prepare.py for its images
    forms: tuple[Form, ...]  # tried in order, in each folder
    remote: Remote | None = None
    obtain: str = ""  # manual instructions, if it cannot be fetched


def rows(opened: OpenedDataset, split: str) -> tuple[str, int, int]:
    """Location of a split: part, first row, end row.

    Test is the first 5000 images of the test set and tune the last 5000; of a smaller set, each is
    one half, so that they never overlap.
    """
    if split not in SPLITS:
        raise unknown_name_error("split", split, SPLITS)
    part = "test" if split == "tune" and "tune" not in opened.parts else split
    if part not in opened.parts:
        raise UsageError(
            f"{opened.path} has no {split} images, only {', '.join(opened.parts)}.",
            hint="Choose another split, or a folder that has them.",
        )
    size = opened.size(part)
    if split == "train" or "tune" in opened.parts:
        return part, 0, size
    half = min(MAX_SPLIT, size // 2)
    return (part, 0, half) if split == "test" else (part, size - half, size)


def split_sizes(opened: OpenedDataset) -> dict[str, int]:
    """Split → number of images, of the existing splits."""
    parts = {*opened.parts, *(("tune",) if "test" in opened.parts else ())}
    spans = {split: rows(opened, split) for split in SPLITS if split in parts}
    return {split: stop - start for split, (_, start, stop) in spans.items()}

"""What a dataset is: its pictures, the forms they have on disk, where they can be had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError, unknown

SPLITS = ("train", "test", "tune")
LARGEST = 5000  # pictures of test and of tune, as HPVM's benchmarks have them


class Pictures(NamedTuple):
    """Inputs with channels last, uint8 or float32 as stored, and a class number for each."""

    inputs: NDArray[Any]
    labels: NDArray[np.int32]


@dataclass(frozen=True)
class Remote:
    """A file others serve. Without a published checksum, what it holds is checked instead."""

    url: str
    file: str  # what it is called here
    checksum: str = ""  # sha256:… or md5:…
    folder: str = ""  # of an archive: the folder it must hold


@dataclass(frozen=True)
class OpenedDataset:
    """Data found on disk. Nothing is decoded before `read` is called."""

    place: Path
    parts: tuple[str, ...]  # train and test, or what else is stored apart
    size: Callable[[str], int]  # part → pictures in it
    read: Callable[[str, int, int], Pictures]  # part, first row, row after the last


Form = Callable[[Path], OpenedDataset | None]  # a folder → what it holds in this form, if anything


@dataclass(frozen=True)
class Dataset:
    name: str
    summary: str
    classes: int
    shape: tuple[int, int, int]  # of one picture, channels last
    preparation: str  # the rule of prepare.py its pictures are made ready with
    forms: tuple[Form, ...]  # tried in order, in each folder
    remote: Remote | None = None
    obtain: str = ""  # what to do by hand, where nothing can be fetched


def rows(opened: OpenedDataset, split: str) -> tuple[str, int, int]:
    """Where a split lies: part, first row, row after the last.

    Test is the first 5000 pictures of the test set and tune the last 5000; of a smaller set, each
    is half of it, so that they never share a picture.
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    part = "test" if split == "tune" and "tune" not in opened.parts else split
    if part not in opened.parts:
        raise UsageError(
            f"{opened.place} has no {split} pictures, only {', '.join(opened.parts)}.",
            hint="Choose another split, or a folder that has them.",
        )
    size = opened.size(part)
    if split == "train" or "tune" in opened.parts:
        return part, 0, size
    half = min(LARGEST, size // 2)
    return (part, 0, half) if split == "test" else (part, size - half, size)


def split_sizes(opened: OpenedDataset) -> dict[str, int]:
    """Split → pictures in it, of the splits that are there."""
    parts = {*opened.parts, *(("tune",) if "test" in opened.parts else ())}
    found = {split: rows(opened, split) for split in SPLITS if split in parts}
    return {split: stop - start for split, (_, start, stop) in found.items()}

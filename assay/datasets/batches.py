"""Datasets as a folder of numbered files with equally many images each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.core.corrupt import damage_error
from assay.datasets.dataset import Images, OpenedDataset

# File, expected number of images, first row, end row.
ReadFile = Callable[[Path, int, int, int], Images]


@dataclass(frozen=True)
class Batches:
    """The form of a folder; called with its parent folder."""

    folders: tuple[str, ...]  # possible names
    parts: Mapping[str, tuple[str, ...]]  # part → its files, in order
    images_per_file: Mapping[str, int]  # part → images per file
    read: ReadFile

    def __call__(self, folder: Path) -> OpenedDataset | None:
        for name in self.folders:
            parts = tuple(p for p, files in self.parts.items() if _has_any(folder / name, files))
            if parts:
                return OpenedDataset(folder / name, parts, self._size, self._reader(folder / name))
        return None

    def _size(self, part: str) -> int:
        return self.images_per_file[part] * len(self.parts[part])

    def _reader(self, folder: Path) -> Callable[[str, int, int], Images]:
        def read(part: str, start: int, stop: int) -> Images:
            blocks = []
            for file, first, last in _pieces(
                self.parts[part], self.images_per_file[part], start, stop
            ):
                path = folder / file
                if not path.is_file():
                    raise damage_error(folder, f"it has no {file}", "it has the other files")
                blocks.append(self.read(path, self.images_per_file[part], first, last))
            return concatenate(blocks)

        return read


def concatenate(blocks: Sequence[Images]) -> Images:
    if len(blocks) == 1:
        return blocks[0]
    return Images(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))


def _has_any(folder: Path, files: Sequence[str]) -> bool:
    return any((folder / file).is_file() for file in files)


def _pieces(
    files: Sequence[str], count: int, start: int, stop: int
) -> Iterator[tuple[str, int, int]]:
    """Files that contain rows start … stop, with the rows in each."""
    for number, file in enumerate(files):
        first, last = max(start - number * count, 0), min(stop - number * count, count)
        if first < last:
            yield file, first, last

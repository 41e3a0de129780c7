"""A folder of numbered files with so many pictures each, whatever is inside a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.core.corrupt import damaged
from assay.datasets.dataset import OpenedDataset, Pictures

# A file, how many pictures it must hold, first row, row after the last.
ReadFile = Callable[[Path, int, int, int], Pictures]


@dataclass(frozen=True)
class Batches:
    """The form of a folder; call it with the folder above."""

    folders: tuple[str, ...]  # names it goes by
    parts: Mapping[str, tuple[str, ...]]  # part → its files, in order
    each: Mapping[str, int]  # part → pictures in every file of it
    read: ReadFile

    def __call__(self, folder: Path) -> OpenedDataset | None:
        for name in self.folders:
            held = tuple(p for p, files in self.parts.items() if _any(folder / name, files))
            if held:
                return OpenedDataset(folder / name, held, self._size, self._reader(folder / name))
        return None

    def _size(self, part: str) -> int:
        return self.each[part] * len(self.parts[part])

    def _reader(self, folder: Path) -> Callable[[str, int, int], Pictures]:
        def read(part: str, start: int, stop: int) -> Pictures:
            found = []
            for file, first, last in _pieces(self.parts[part], self.each[part], start, stop):
                path = folder / file
                if not path.is_file():
                    raise damaged(folder, f"it has no {file}", "its neighbours are there")
                found.append(self.read(path, self.each[part], first, last))
            return joined(found)

        return read


def joined(found: Sequence[Pictures]) -> Pictures:
    if len(found) == 1:
        return found[0]
    return Pictures(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


def _any(folder: Path, files: Sequence[str]) -> bool:
    return any((folder / file).is_file() for file in files)


def _pieces(
    files: Sequence[str], each: int, start: int, stop: int
) -> Iterator[tuple[str, int, int]]:
    """The files that rows start … stop lie in, with the rows of each."""
    for number, file in enumerate(files):
        first, last = max(start - number * each, 0), min(stop - number * each, each)
        if first < last:
            yield file, first, last

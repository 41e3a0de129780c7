"""Learnable images generated from a seed, to try a network."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets.batches import concatenate
from assay.datasets.dataset import Dataset, Images, OpenedDataset

SIZES = {"train": 10000, "test": 10000}
_BLOCK = 500  # images generated together; the first N do not depend on N


def synthetic(
    shape: tuple[int, int, int] = (32, 32, 3), classes: int = 10, seed: int = 0
) -> Dataset:
    """Each class is a pattern; an image is the pattern plus noise of equal range."""

    def find(folder: Path) -> OpenedDataset:
        def read(part: str, start: int, stop: int) -> Images:
            first = start // _BLOCK
            blocks = [
                _block(shape, classes, (seed, list(SIZES).index(part), number))
                for number in range(first, (stop - 1) // _BLOCK + 1)
            ]
            images = concatenate(blocks)
            cut = slice(start - first * _BLOCK, stop - first * _BLOCK)
            return Images(images.inputs[cut], images.labels[cut])

        return OpenedDataset(Path("synthetic"), tuple(SIZES), SIZES.__getitem__, read)

    return Dataset(
        name="synthetic",
        summary="images generated from a seed, ten learnable classes",
        classes=classes,
        shape=shape,
        preparation="mnist",
        forms=(find,),
    )


def _block(shape: tuple[int, int, int], classes: int, seed: tuple[int, int, int]) -> Images:
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, _BLOCK).astype(np.int32)
    noise = random.integers(0, 128, (_BLOCK, *shape), dtype=np.uint8)
    return Images(_patterns(shape, classes, seed[0])[labels] + noise, labels)


@cache
def _patterns(shape: tuple[int, int, int], classes: int, seed: int) -> NDArray[Any]:
    random = np.random.default_rng((seed, classes))
    return random.integers(0, 128, (classes, *shape), dtype=np.uint8)

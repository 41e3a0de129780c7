"""ImageNet as a folder: imagenet/train and imagenet/val, a folder of JPEGs for each class."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.corrupt import damaged, intact
from assay.datasets.cifar import pillow
from assay.datasets.dataset import OpenedDataset, Pictures

CLASSES = 1000
SIDE = 224
SHORTER = 256  # the shorter side before the middle is cut out, as is usual
_PARTS = {"train": ("train",), "test": ("val", "test")}  # part → names its folder goes by
_ENDINGS = {".jpeg", ".jpg"}


class Listed(NamedTuple):
    file: Path
    label: int


def folder_form(folder: Path) -> OpenedDataset | None:
    """Class numbers follow the sorted names of the 1000 class folders.

    Where only some classes are there, imagenet/classes.txt must name all 1000, one a line, so that
    the numbers stay those the networks know.
    """
    root = folder / "imagenet"
    held = {
        part: root / name
        for part, names in _PARTS.items()
        for name in names
        if (root / name).is_dir()
    }
    if not held:
        return None

    def read(part: str, start: int, stop: int) -> Pictures:
        chosen = listed(held[part])[start:stop]
        inputs = np.stack([decoded(file) for file, _ in chosen])
        return Pictures(inputs, np.array([label for _, label in chosen], np.int32))

    return OpenedDataset(root, tuple(held), lambda part: len(listed(held[part])), read)


@cache  # a million names take seconds
def listed(folder: Path) -> tuple[Listed, ...]:
    """Pictures by file name, so that the first thousand already come from all classes."""
    numbers = _numbers(folder)
    found = [
        Listed(file, numbers[kind.name])
        for kind in sorted(folder.iterdir())
        if kind.is_dir()
        for file in kind.iterdir()
        if file.suffix.lower() in _ENDINGS
    ]
    return tuple(sorted(found, key=lambda one: (one.file.name, one.label)))


def decoded(path: Path) -> NDArray[np.uint8]:
    """The middle of a picture, SIDE x SIDE, after its shorter side was made SHORTER."""
    library = pillow()
    with intact(path, "a JPEG picture was expected"), library.open(path) as image:
        image.draft("RGB", (SHORTER, SHORTER))  # JPEG can be decoded small; never below this
        scale = SHORTER / min(image.size)
        size = tuple(max(SHORTER, round(side * scale)) for side in image.size)
        whole: Any = image.convert("RGB").resize(size, library.Resampling.BILINEAR)
        left, top = (size[0] - SIDE) // 2, (size[1] - SIDE) // 2
        return np.asarray(whole.crop((left, top, left + SIDE, top + SIDE)))


def _numbers(folder: Path) -> dict[str, int]:
    """Class folder → class number."""
    here = sorted(kind.name for kind in folder.iterdir() if kind.is_dir())
    listing = folder.parent / "classes.txt"
    names = listing.read_text().split() if listing.is_file() else here
    strange = sorted(set(here) - set(names))
    if strange:
        raise damaged(folder, f"it has a folder {strange[0]}", f"{listing} does not name it")
    if len(names) != CLASSES:
        raise damaged(
            folder,
            f"{len(names)} classes are known",
            f"ImageNet has {CLASSES}",
            hint=f"Name all {CLASSES} class folders in {listing}, one a line, in sorted order.",
        )
    return {name: number for number, name in enumerate(names)}

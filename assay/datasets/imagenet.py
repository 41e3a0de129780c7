"""ImageNet as a folder: imagenet/train and imagenet/val, a folder of JPEGs for each class."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.corrupt import damage_error, explain_read_errors
from assay.datasets.cifar import pillow
from assay.datasets.dataset import Images, OpenedDataset

CLASSES = 1000
SIDE = 224
SHORT_SIDE = 256  # the shorter side before the centre crop, as is usual
_PARTS = {"train": ("train",), "test": ("val", "test")}  # part → possible folder names
_ENDINGS = {".jpeg", ".jpg"}


class ImageFile(NamedTuple):
    file: Path
    label: int


def folder_form(folder: Path) -> OpenedDataset | None:
    """Class numbers follow the sorted names of the 1000 class folders.

    If some classes are missing, imagenet/classes.txt must name all 1000, one per line, so that the
    numbers are those of the networks.
    """
    root = folder / "imagenet"
    part_folders = {
        part: root / name
        for part, names in _PARTS.items()
        for name in names
        if (root / name).is_dir()
    }
    if not part_folders:
        return None

    def read(part: str, start: int, stop: int) -> Images:
        chosen = list_images(part_folders[part])[start:stop]
        inputs = np.stack([decode_image(file) for file, _ in chosen])
        return Images(inputs, np.array([label for _, label in chosen], np.int32))

    return OpenedDataset(
        root, tuple(part_folders), lambda part: len(list_images(part_folders[part])), read
    )


@cache  # a million names take seconds
def list_images(folder: Path) -> tuple[ImageFile, ...]:
    """Images by file name, so that the first thousand are from all classes."""
    numbers = _numbers(folder)
    images = [
        ImageFile(file, numbers[kind.name])
        for kind in sorted(folder.iterdir())
        if kind.is_dir()
        for file in kind.iterdir()
        if file.suffix.lower() in _ENDINGS
    ]
    return tuple(sorted(images, key=lambda image: (image.file.name, image.label)))


def decode_image(path: Path) -> NDArray[np.uint8]:
    """The centre crop of an image, SIDE x SIDE, after its shorter side is resized to SHORTER."""
    library = pillow()
    with explain_read_errors(path, "a JPEG image was expected"), library.open(path) as image:
        image.draft("RGB", (SHORT_SIDE, SHORT_SIDE))  # decode at reduced size, never below this
        scale = SHORT_SIDE / min(image.size)
        size = tuple(max(SHORT_SIDE, round(side * scale)) for side in image.size)
        resized: Any = image.convert("RGB").resize(size, library.Resampling.BILINEAR)
        left, top = (size[0] - SIDE) // 2, (size[1] - SIDE) // 2
        return np.asarray(resized.crop((left, top, left + SIDE, top + SIDE)))


def _numbers(folder: Path) -> dict[str, int]:
    """Class folder → class number."""
    here = sorted(kind.name for kind in folder.iterdir() if kind.is_dir())
    listing = folder.parent / "classes.txt"
    names = listing.read_text().split() if listing.is_file() else here
    unknown_classes = sorted(set(here) - set(names))
    if unknown_classes:
        raise damage_error(
            folder, f"it has a folder {unknown_classes[0]}", f"{listing} does not list it"
        )
    if len(names) != CLASSES:
        raise damage_error(
            folder,
            f"{len(names)} classes are known",
            f"ImageNet has {CLASSES}",
            hint=f"List all {CLASSES} class folders in {listing}, one per line, sorted.",
        )
    return {name: number for number, name in enumerate(names)}

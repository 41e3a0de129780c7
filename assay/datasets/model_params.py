"""HPVM's model_params: preprocessed test and tune images of its ten networks, as .bin files."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from assay.core.corrupt import damage_error
from assay.datasets.dataset import Dataset, Form, Images, OpenedDataset, Remote

REMOTE = Remote(
    url="https://databank.illinois.edu/datafiles/o3izd/download",
    file="model_params.tar.gz",
    folder="model_params",
)
_PARTS = ("test", "tune")
_WORD = 4  # bytes of a float32, and of a label


def bins(network: str, shape: tuple[int, int, int]) -> Form:
    """The form of one network's folder: float32 images, channels first, and uint32 labels."""

    def find(folder: Path) -> OpenedDataset | None:
        path = folder / "model_params" / network
        if not path.is_dir():
            return None
        sizes = {part: _size(path, part, shape) for part in _PARTS}

        def read(part: str, start: int, stop: int) -> Images:
            count, item = stop - start, math.prod(shape)
            inputs = np.fromfile(
                path / f"{part}_input.bin", "<f4", count * item, offset=start * item * _WORD
            ).reshape(count, shape[2], *shape[:2])
            labels = np.fromfile(
                path / f"{part}_labels.bin", "<u4", count, offset=start * _WORD
            ).astype(np.int32)
            return Images(inputs.transpose(0, 2, 3, 1), labels)

        return OpenedDataset(path, _PARTS, sizes.__getitem__, read)

    return find


def _size(folder: Path, part: str, shape: tuple[int, int, int]) -> int:
    """Number of images in a part, after a check of both files."""
    images, labels = folder / f"{part}_input.bin", folder / f"{part}_labels.bin"
    for file in (images, labels):
        if not file.is_file():
            raise damage_error(folder, f"it has no {file.name}", "every network has one")
    count, rest = divmod(os.path.getsize(labels), _WORD)
    if rest or not count:
        raise damage_error(labels, f"it has {os.path.getsize(labels)} bytes", "a label has four")
    expected = count * math.prod(shape) * _WORD
    if os.path.getsize(images) != expected:
        raise damage_error(
            images,
            f"it has {os.path.getsize(images)} bytes",
            f"{count} labels need {expected} bytes of images",
        )
    return count


def _dataset(network: str, classes: int, shape: tuple[int, int, int]) -> Dataset:
    return Dataset(
        name=f"model_params/{network}",
        summary=f"HPVM's images for {network}, preprocessed",
        classes=classes,
        shape=shape,
        preparation="none",
        forms=(bins(network, shape),),
        remote=REMOTE,
    )


_SMALL, _LARGE = (32, 32, 3), (224, 224, 3)
DATASETS = (
    _dataset("lenet_mnist", 10, (28, 28, 1)),
    *(
        _dataset(f"{network}_cifar10", 10, _SMALL)
        for network in ("alexnet", "alexnet2", "vgg16", "mobilenet", "resnet18")
    ),
    _dataset("vgg16_cifar100", 100, _SMALL),
    *(
        _dataset(f"{network}_imagenet", 1000, _LARGE)
        for network in ("alexnet", "vgg16", "resnet50")
    ),
)

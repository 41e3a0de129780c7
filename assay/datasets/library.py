"""Datasets on disk: find, load and list them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from assay.core.corrupt import damage_error
from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.files import user_path
from assay.datasets.catalog import DATASETS, get
from assay.datasets.dataset import Dataset, Images, OpenedDataset, rows, split_sizes


@dataclass(frozen=True)
class LocalDataset:
    """A dataset's location, or how to get it."""

    name: str
    summary: str
    classes: int
    sizes: dict[str, int]  # split → number of images; empty if it is missing
    place: str  # "" if it is missing
    note: str  # error, or how to get it


def find(dataset: Dataset, home: Home = None) -> OpenedDataset | None:
    """The dataset on disk, not read yet; damaged files raise here or when they are read."""
    for folder in folders(home):
        for layout in dataset.forms:
            if opened := layout(folder):
                return opened
    return None


def load(name: str | Dataset, split: str, first: int | None = None, home: Home = None) -> Images:
    """Load a split, or its first images, from local files: `fetch` downloads them."""
    dataset = get(name) if isinstance(name, str) else name
    opened = find(dataset, home)
    if opened is None:
        raise NotPossibleError(
            f"The images of {dataset.name} are neither in ASSAY_DATA nor fetched.",
            hint=fetch_hint(dataset),
        )
    part, start, stop = rows(opened, split)
    if first is not None:
        if not 0 < first <= stop - start:
            raise UsageError(
                f"The first {first} images of {split} were requested, "
                f"but {opened.path} has {stop - start}.",
                hint=f"Request 1 to {stop - start}.",
            )
        stop = start + first
    return _check(dataset, opened, opened.read(part, start, stop))


def local_datasets(home: Home = None) -> list[LocalDataset]:
    """All datasets with their locations."""
    return [_local_dataset(dataset, home) for dataset in DATASETS.values()]


def fetch_hint(dataset: Dataset) -> str:
    """How to get a dataset."""
    if not dataset.remote:
        return dataset.obtain
    group = dataset.name.partition("/")[0]
    return f"assay data fetch {group}"


def _local_dataset(dataset: Dataset, home: Home) -> LocalDataset:
    path, sizes, note = "", {}, ""
    try:
        opened = find(dataset, home)
        if opened is None:
            note = fetch_hint(dataset)
        else:
            path, sizes = str(opened.path), split_sizes(opened)
    except AssayError as error:
        note = str(error)
    return LocalDataset(dataset.name, dataset.summary, dataset.classes, sizes, path, note)


def _check(dataset: Dataset, opened: OpenedDataset, images: Images) -> Images:
    inputs, labels = images
    if inputs.shape[1:] != dataset.shape:
        expected = f"those of {dataset.name} are {dataset.shape}"
        raise damage_error(opened.path, f"its images are {inputs.shape[1:]}", expected)
    wrong = (labels < 0) | (labels >= dataset.classes)
    if wrong.any():
        index = int(wrong.argmax())
        expected = f"{dataset.name} has classes 0 to {dataset.classes - 1}"
        raise damage_error(
            opened.path, f"label {labels[index]} of image {index} is out of range", expected
        )
    return images


Home = str | Path | None


def folders(home: Home = None) -> tuple[Path, ...]:
    """Folders in search order."""
    chosen = os.environ.get("ASSAY_DATA")
    if not chosen:
        return (cache(home),)
    folder = user_path(chosen)
    if not folder.is_dir():
        raise UsageError(
            f"ASSAY_DATA is {chosen}, but there is no such folder.",
            hint="Create it, or unset ASSAY_DATA to use what assay has fetched.",
        )
    return (folder, cache(home))


def cache(home: Home = None) -> Path:
    """`data` in the home folder; a worker gets the home from its environment."""
    chosen = home or os.environ.get("ASSAY_HOME") or "~/.assay"
    return user_path(chosen) / "data"

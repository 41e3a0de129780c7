"""Datasets on disk: find one, load a split of it, say what is here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from assay.core.corrupt import damaged
from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.files import user_path
from assay.datasets.catalog import DATASETS, get
from assay.datasets.dataset import Dataset, OpenedDataset, Pictures, rows, split_sizes


@dataclass(frozen=True)
class Held:
    """One dataset as it is here, or how to get it."""

    name: str
    summary: str
    classes: int
    sizes: dict[str, int]  # split → pictures; empty where it is not here
    place: str  # "" where it is not here
    note: str  # what is wrong with it, or how to get it


def find(dataset: Dataset, home: Home = None) -> OpenedDataset | None:
    """The data on disk, not yet read; a damaged file is refused here or when it is read."""
    for folder in folders(home):
        for form in dataset.forms:
            if opened := form(folder):
                return opened
    return None


def load(name: str | Dataset, split: str, first: int | None = None, home: Home = None) -> Pictures:
    """A split, or its first so many pictures. Only local files are read: `fetch` gets them."""
    dataset = get(name) if isinstance(name, str) else name
    opened = find(dataset, home)
    if opened is None:
        raise NotPossibleError(
            f"The pictures of {dataset.name} are neither in ASSAY_DATA nor fetched.",
            hint=how(dataset),
        )
    part, start, stop = rows(opened, split)
    if first is not None:
        if not 0 < first <= stop - start:
            raise UsageError(
                f"The first {first} pictures of {split} were asked for, "
                f"but {opened.place} has {stop - start}.",
                hint=f"Ask for 1 to {stop - start}.",
            )
        stop = start + first
    return _checked(dataset, opened, opened.read(part, start, stop))


def held(home: Home = None) -> list[Held]:
    """Every dataset, and where it is."""
    return [_held(dataset, home) for dataset in DATASETS.values()]


def how(dataset: Dataset) -> str:
    """What to do to have it."""
    if not dataset.remote:
        return dataset.obtain
    fetched = dataset.name.partition("/")[0]
    return f"assay data fetch {fetched}"


def _held(dataset: Dataset, home: Home) -> Held:
    place, sizes, note = "", {}, ""
    try:
        opened = find(dataset, home)
        if opened is None:
            note = how(dataset)
        else:
            place, sizes = str(opened.place), split_sizes(opened)
    except AssayError as error:
        note = str(error)
    return Held(dataset.name, dataset.summary, dataset.classes, sizes, place, note)


def _checked(dataset: Dataset, opened: OpenedDataset, pictures: Pictures) -> Pictures:
    inputs, labels = pictures
    if inputs.shape[1:] != dataset.shape:
        expected = f"those of {dataset.name} are {dataset.shape}"
        raise damaged(opened.place, f"its pictures are {inputs.shape[1:]}", expected)
    wrong = (labels < 0) | (labels >= dataset.classes)
    if wrong.any():
        at = int(wrong.argmax())
        expected = f"{dataset.name} has classes 0 to {dataset.classes - 1}"
        raise damaged(opened.place, f"label {labels[at]} of picture {at} is out of range", expected)
    return pictures


Home = str | Path | None


def folders(home: Home = None) -> tuple[Path, ...]:
    """In the order they are searched."""
    chosen = os.environ.get("ASSAY_DATA")
    if not chosen:
        return (cache(home),)
    folder = user_path(chosen)
    if not folder.is_dir():
        raise UsageError(
            f"ASSAY_DATA is {chosen}, but there is no such folder.",
            hint="Make it, or unset ASSAY_DATA to use what assay fetched itself.",
        )
    return (folder, cache(home))


def cache(home: Home = None) -> Path:
    """`data` in the home folder; a worker knows the home by its environment alone."""
    chosen = home or os.environ.get("ASSAY_HOME") or "~/.assay"
    return user_path(chosen) / "data"

"""Have a dataset: found on disk, unpacked from a file that lies there, or downloaded."""

from __future__ import annotations

from pathlib import Path

from assay.core.archives import unpack_folder
from assay.core.errors import AssayError, NotPossibleError
from assay.datasets.catalog import DATASETS, get
from assay.datasets.dataset import Dataset, OpenedDataset, Remote, split_sizes
from assay.datasets.download import DownloadProgress, check, download
from assay.datasets.library import Home, cache, find, folders, load


def fetch(name: str, home: Home = None, progress: DownloadProgress = lambda *_: None) -> list[str]:
    """Where it is now; a name such as model_params stands for all that begin with it."""
    group = [known for known in DATASETS if known.startswith(f"{name}/")]
    datasets = [DATASETS[known] for known in group] or [get(name)]
    return sorted({str(_had(dataset, home, progress).place) for dataset in datasets})


def _had(dataset: Dataset, home: Home, progress: DownloadProgress) -> OpenedDataset:
    opened = find(dataset, home)
    if opened is None:
        if dataset.remote is None:
            raise NotPossibleError(f"{dataset.name} cannot be fetched.", hint=dataset.obtain)
        _bring(dataset.remote, home, progress)
        opened = find(dataset, home)
    if opened is None:
        raise NotPossibleError(
            f"{dataset.name} was fetched, but nothing of it was found in {cache(home)}.",
            hint="Delete that folder and try again.",
        )
    for split in split_sizes(opened):
        load(dataset, split, first=1, home=home)  # refuses what has the wrong structure
    return opened


def _bring(remote: Remote, home: Home, progress: DownloadProgress) -> None:
    begun = cache(home) / remote.folder
    if remote.folder and begun.exists():
        raise AssayError(f"{begun} is there, but lacks files.", hint="Delete it, then try again.")
    lying = _lying(remote, home)
    if lying:
        check(remote, lying)
    file = lying or download(remote, cache(home), progress)
    if remote.folder:
        unpack_folder(file, remote.folder, cache(home))
        if not lying:
            file.unlink()  # what it held is there now


def _lying(remote: Remote, home: Home) -> Path | None:
    """The file itself, put into a folder by hand."""
    return next((p for folder in folders(home) if (p := folder / remote.file).is_file()), None)

"""Get a dataset: from disk, from a local archive, or by download."""

from __future__ import annotations

from pathlib import Path

from assay.core.archives import unpack_folder
from assay.core.errors import AssayError, NotPossibleError
from assay.datasets.catalog import DATASETS, get
from assay.datasets.dataset import Dataset, OpenedDataset, Remote, split_sizes
from assay.datasets.download import DownloadProgress, check, download
from assay.datasets.library import Home, cache, find, folders, load


def fetch(name: str, home: Home = None, progress: DownloadProgress = lambda *_: None) -> list[str]:
    """Fetch a dataset, or all of a group such as model_params; returns their paths."""
    group = [dataset_name for dataset_name in DATASETS if dataset_name.startswith(f"{name}/")]
    datasets = [DATASETS[dataset_name] for dataset_name in group] or [get(name)]
    return sorted({str(_ensure(dataset, home, progress).path) for dataset in datasets})


def _ensure(dataset: Dataset, home: Home, progress: DownloadProgress) -> OpenedDataset:
    opened = find(dataset, home)
    if opened is None:
        if dataset.remote is None:
            raise NotPossibleError(f"{dataset.name} cannot be fetched.", hint=dataset.obtain)
        _fetch_remote(dataset.remote, home, progress)
        opened = find(dataset, home)
    if opened is None:
        raise NotPossibleError(
            f"{dataset.name} was fetched, but it is not in {cache(home)}.",
            hint="Delete that folder and try again.",
        )
    for split in split_sizes(opened):
        load(dataset, split, first=1, home=home)  # checks the structure
    return opened


def _fetch_remote(remote: Remote, home: Home, progress: DownloadProgress) -> None:
    target = cache(home) / remote.folder
    if remote.folder and target.exists():
        raise AssayError(
            f"{target} exists, but has missing files.", hint="Delete it, then try again."
        )
    local = _find_local_file(remote, home)
    if local:
        check(remote, local)
    file = local or download(remote, cache(home), progress)
    if remote.folder:
        unpack_folder(file, remote.folder, cache(home))
        if not local:
            file.unlink()  # it is unpacked


def _find_local_file(remote: Remote, home: Home) -> Path | None:
    """The file, if a user has put it into a folder."""
    return next((p for folder in folders(home) if (p := folder / remote.file).is_file()), None)

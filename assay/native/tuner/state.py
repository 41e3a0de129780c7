"""Checkpoint of an interrupted tuning, so that nothing is measured twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from assay.core import codec
from assay.core.errors import UsageError
from assay.core.files import atomic_path, write_atomic
from assay.native.graph import Array

FOLDER = "unfinished"
_BEGUN = "begun.json"


class TuningState:
    """Numbers and arrays by name, for a tuning with these `settings`."""

    def __init__(self, output: Path, settings: dict[str, str], resume: bool) -> None:
        self._folder = output / FOLDER
        if resume:
            _check_same(self._folder, settings, output)
        else:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            write_atomic(self._folder / _BEGUN, msgspec.json.encode(settings))

    def numbers(self, name: str, compute: Callable[[], dict[str, float]]) -> dict[str, float]:
        path = self._folder / f"{name}.json"
        if path.is_file():
            return codec.decode_part(path.read_bytes(), dict[str, float])
        values = compute()
        write_atomic(path, codec.encode(values))
        return values

    def array(self, name: str, compute: Callable[[], Array]) -> Array:
        path = self._folder / f"{name}.npy"
        if path.is_file():
            stored: Array = np.load(path, allow_pickle=False)
            return stored
        values = compute()
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.save(file, values)
        return values

    def has(self, name: str) -> bool:
        return any((self._folder / f"{name}{end}").is_file() for end in (".json", ".npy"))

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _check_same(folder: Path, settings: dict[str, str], output: Path) -> None:
    path = folder / _BEGUN
    if not path.is_file():
        raise UsageError(
            f"There is no unfinished tuning in {output}.", hint="Omit --resume to start one."
        )
    before = msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    for name, value in settings.items():
        if before.get(name) != value:
            raise UsageError(
                f"The tuning in {output} was started with another {name} ({before.get(name)}, "
                f"not {value}).",
                hint="Give the same settings, or omit --resume to start again.",
            )

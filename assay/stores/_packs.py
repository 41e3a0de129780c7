"""Packs of old run folders: `packs/NAME.zip`, which unzip restores.

A pack is written atomically and verified before folders are removed, and only changed by rewriting
it. An existing run folder has precedence over its pack.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.core.archive_members import DAMAGE
from assay.core.errors import StoreError
from assay.core.files import atomic_path, has_text_name
from assay.core.systems import lock_file
from assay.stores import folders
from assay.stores._modes import set_mode, set_modes

MAX_RUNS = 2000  # per pack: its list of names is read completely
SKIPPED_NAME = "lock"
_REMOVED_PREFIX = ".packed-"  # prefix of a packed run folder that is being removed
_RESTORED_PREFIX = ".restored-"  # prefix of a run folder that is being restored
_ABANDONED_AFTER = 86400.0  # seconds after which a folder that is being restored is a leftover


class Pack:
    """A pack, open for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _explain_errors(path):
            if not path.is_file():  # a pipe would block
                raise OSError("it is no plain file")
            self._file = zipfile.ZipFile(path)
        self.runs: dict[str, list[str]] = {}
        for info in self._file.infolist():
            run, _, name = info.filename.partition("/")
            if _is_plain(run, name):
                self.runs.setdefault(run, []).append(name)

    def read(self, run: str, name: str) -> bytes | None:
        """One file of a run, or None."""
        if name not in self.runs.get(run, ()):
            return None
        with _explain_errors(self.path):
            info = self._file.getinfo(f"{run}/{name}")
            if info.file_size > folders.MAX_BYTES:
                raise OSError(f"{run}/{name} is larger than {folders.MAX_BYTES >> 20} MiB")
            return self._file.read(info)

    def sizes(self, run: str, within: str) -> list[int]:
        """Uncompressed sizes of the files below a folder of a run."""
        names = (name for name in self.runs.get(run, ()) if name.startswith(within))
        return [self._file.getinfo(f"{run}/{name}").file_size for name in names]

    def close(self) -> None:
        self._file.close()


@contextmanager
def lock_packs(home: Path) -> Iterator[None]:
    """Lock packs for writing by one process, so that removed runs do not return."""
    path = home / "packs.lock"
    with _explain_errors(path):
        file = open(path, "w")  # noqa: SIM115 (closed below)
    with file:
        lock_file(file)
        yield


def write(packs: Path, name: str, runs: Path, names: Sequence[str]) -> Path:
    """Write and verify a new pack of run folders, which stay."""
    path = packs / name
    with _explain_errors(path):
        if not packs.exists():
            packs.mkdir(exist_ok=True)
            set_mode(packs, runs)
        if path.exists():
            raise FileExistsError(f"{name} exists already")
        with atomic_path(path) as temporary:
            with _zip(temporary) as file:
                for run in names:
                    with folders.lock_run(runs / run):
                        for source in _files(runs / run):
                            file.write(source, source.relative_to(runs))
            _compare(temporary, runs)
            set_mode(temporary, runs)
    return path


def remove_packed(runs: Path, pack: Pack) -> Iterator[str]:
    """Remove folders of runs with identical content in a pack; yields their names."""
    for run, names in pack.runs.items():
        folder = runs / run
        if not folder.is_dir():
            continue
        with folders.lock_run(folder):
            files = {str(file.relative_to(folder)) for file in _files(folder)}
            same = files == set(names) and all(
                (folder / name).read_bytes() == pack.read(run, name) for name in names
            )
            if same:  # renamed first, so that no partial folder is left
                folder.rename(runs / f"{_REMOVED_PREFIX}{run}")
        if same:
            folders.remove(runs / f"{_REMOVED_PREFIX}{run}")
            yield run


def sweep(runs: Path, packs: Path) -> None:
    """Remove leftovers of killed processes."""
    with folders.explain_os_errors(runs), os.scandir(runs) as entries:
        leftovers = [Path(entry.path) for entry in entries if _is_leftover(entry)]
    for folder in leftovers:
        folders.remove(folder)
    for file in packs.glob(".*.zip"):
        file.unlink()


def _is_leftover(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(_RESTORED_PREFIX):
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED_AFTER
    return entry.name.startswith(_REMOVED_PREFIX)


def restore(pack: Pack, run: str, runs: Path) -> None:
    """Extract the folder of a run from its pack, which keeps it."""
    temporary = runs / f"{_RESTORED_PREFIX}{os.urandom(4).hex()}-{run}"
    with _explain_errors(pack.path):
        try:
            for name in pack.runs[run]:
                target = temporary / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(pack.read(run, name) or b"")
            set_modes(temporary, runs)
            temporary.rename(runs / run)
        except OSError:
            if not (runs / run).is_dir():  # else another process was faster
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def drop(pack: Pack, runs: set[str]) -> None:
    """Rewrite a pack without some runs; an empty one is removed."""
    remaining = [run for run in pack.runs if run not in runs]
    with _explain_errors(pack.path):
        if not remaining:
            pack.path.unlink()
            return
        with atomic_path(pack.path) as temporary, _zip(temporary) as file:
            for run in remaining:
                for name in pack.runs[run]:
                    file.writestr(f"{run}/{name}", pack.read(run, name) or b"")


def _zip(path: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)


def _is_plain(run: str, name: str) -> bool:
    """Whether a member is a file inside a run folder."""
    parts = name.split("/")
    return bool(folders.RUN.fullmatch(run)) and all(part not in {"", ".", ".."} for part in parts)


def _files(folder: Path) -> list[Path]:
    files = []
    for parent, _, names in os.walk(folder):
        for name in names:
            file = Path(parent) / name
            if file.is_symlink() or not file.is_file():
                raise OSError(errno.EINVAL, "it is no plain file", str(file))
            if not has_text_name(file):
                raise OSError(errno.EINVAL, "its name is not UTF-8", ascii(str(file)))
            if name != SKIPPED_NAME:
                files.append(file)
    return sorted(files)


def _compare(path: Path, runs: Path) -> None:
    with zipfile.ZipFile(path) as file:
        for info in file.infolist():
            if file.read(info) != (runs / info.filename).read_bytes():
                raise OSError(f"{info.filename} changed while it was packed")


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Convert errors of a damaged or unreachable pack."""
    try:
        yield
    except (*DAMAGE, KeyError, NotImplementedError, RuntimeError) as error:
        raise StoreError(
            f"The pack {path} cannot be used ({error}).",
            hint="Repair it (zip -FF), or move it away to hide its runs.",
        ) from None

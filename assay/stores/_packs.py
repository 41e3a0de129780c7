"""Old run folders in few files: `packs/NAME.zip` holds them as they were; unzip gives them back.

A pack is written whole, read back and compared before a folder goes, and never changed but by
writing it anew. A run folder that is there goes before what a pack holds of it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.core.archive_members import DAMAGE
from assay.core.errors import StoreError
from assay.core.files import written_whole
from assay.stores import folders

MOST_RUNS = 2000  # of one pack: its list of names is read whole
LEFT_OUT = "lock"
_LEAVING = ".packed-"  # a run folder that is in a pack and about to go


class Pack:
    """One file of packed runs, open to be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _explained(path):
            if not path.is_file():  # a pipe would be waited for
                raise OSError("it is no plain file")
            self._file = zipfile.ZipFile(path)
        self.runs: dict[str, list[str]] = {}
        for info in self._file.infolist():
            run, _, name = info.filename.partition("/")
            if _is_plain(run, name):
                self.runs.setdefault(run, []).append(name)

    def read(self, run: str, name: str) -> bytes | None:
        """One file of a run; None where the run has none of that name."""
        if name not in self.runs.get(run, ()):
            return None
        with _explained(self.path):
            found = self._file.getinfo(f"{run}/{name}")
            if found.file_size > folders.MOST_BYTES:
                raise OSError(f"{run}/{name} is larger than {folders.MOST_BYTES >> 20} MiB")
            return self._file.read(found)

    def sizes(self, run: str, within: str) -> list[int]:
        """Bytes of the files of a run below a folder of it, as they were before."""
        names = (name for name in self.runs.get(run, ()) if name.startswith(within))
        return [self._file.getinfo(f"{run}/{name}").file_size for name in names]

    def close(self) -> None:
        self._file.close()


@contextmanager
def changing(home: Path) -> Iterator[None]:
    """One process at a time writes packs: what another left out of one would come back."""
    path = home / "packs.lock"
    with _explained(path):
        file = open(path, "w")  # noqa: SIM115 (closed below)
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write(packs: Path, name: str, runs: Path, names: Sequence[str]) -> Path:
    """A new pack of these run folders, which stay; it is there only when it was read back."""
    path = packs / name
    with _explained(path):
        packs.mkdir(exist_ok=True)
        if path.exists():
            raise FileExistsError(f"{name} is there already")
        with written_whole(path) as temporary:
            with _zip(temporary) as file:
                for run in names:
                    with folders.locked(runs / run):
                        for source in _files(runs / run):
                            file.write(source, source.relative_to(runs))
            _compare(temporary, runs)
    return path


def leave(runs: Path, pack: Pack) -> Iterator[str]:
    """Remove the folders of the runs that a pack holds as they are; which went."""
    for run, names in pack.runs.items():
        folder = runs / run
        if not folder.is_dir():
            continue
        with folders.locked(folder):
            now = {str(file.relative_to(folder)) for file in _files(folder)}
            same = now == set(names) and all(
                (folder / name).read_bytes() == pack.read(run, name) for name in names
            )
            if same:  # under another name first: a half removed folder is none
                folder.rename(runs / f"{_LEAVING}{run}")
        if same:
            folders.remove(runs / f"{_LEAVING}{run}")
            yield run


def sweep(runs: Path, packs: Path) -> None:
    """Remove what a pack or a removal that was killed left over."""
    with folders.explained(runs), os.scandir(runs) as entries:
        left = [Path(entry.path) for entry in entries if entry.name.startswith(_LEAVING)]
    for folder in left:
        folders.remove(folder)
    for file in packs.glob(".*.zip"):
        file.unlink()


def restore(pack: Pack, run: str, runs: Path) -> None:
    """The folder of a run, out of its pack, which keeps it too."""
    place = runs / f".{os.getpid()}-restored-{run}"
    with _explained(pack.path):
        try:
            for name in pack.runs[run]:
                target = place / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(pack.read(run, name) or b"")
            place.rename(runs / run)
        except OSError:
            if not (runs / run).is_dir():  # else somebody else was quicker
                raise
        finally:
            shutil.rmtree(place, ignore_errors=True)


def drop(pack: Pack, runs: set[str]) -> None:
    """Write a pack anew without some runs; without any, it is removed."""
    left = [run for run in pack.runs if run not in runs]
    with _explained(pack.path):
        if not left:
            pack.path.unlink()
            return
        with written_whole(pack.path) as temporary, _zip(temporary) as file:
            for run in left:
                for name in pack.runs[run]:
                    file.writestr(f"{run}/{name}", pack.read(run, name) or b"")


def _zip(path: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)


def _is_plain(run: str, name: str) -> bool:
    """A file inside a run folder: nothing that leads out of it."""
    parts = name.split("/")
    return bool(folders.RUN.fullmatch(run)) and all(part not in {"", ".", ".."} for part in parts)


def _files(folder: Path) -> list[Path]:
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place) / name
            if file.is_symlink() or not file.is_file():
                raise OSError(f"{file} is no plain file")
            if name != LEFT_OUT:
                found.append(file)
    return sorted(found)


def _compare(path: Path, runs: Path) -> None:
    with zipfile.ZipFile(path) as file:
        for info in file.infolist():
            if file.read(info) != (runs / info.filename).read_bytes():
                raise OSError(f"{info.filename} changed while it was packed")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What a damaged or unreachable pack raises, in one sentence."""
    try:
        yield
    except (*DAMAGE, KeyError, NotImplementedError, RuntimeError) as error:
        raise StoreError(
            f"The pack {path} cannot be used ({error}).",
            hint="Repair it (zip -FF), or move it away to hide the runs it holds.",
        ) from None

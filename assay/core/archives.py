"""Archives, unpacked without trusting them: all of it inside the folder, or nothing at all."""

from __future__ import annotations

import os
import posixpath
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assay.core.damage import BROKEN, damaged, writing
from assay.core.errors import AssayError

DAMAGE = (tarfile.TarError, *BROKEN)  # what a damaged archive may raise


class Member(NamedTuple):
    name: str
    link: str  # where it points, from the archive's top, if it is a link
    plain: bool  # a file, a folder or a link; not a device or a pipe


def is_archive(path: Path) -> bool:
    try:
        return tarfile.is_tarfile(path) or zipfile.is_zipfile(path)
    except (EOFError, zlib.error):  # cut or damaged before the name of its first member
        return False


def unpack(archive: Path, folder: Path) -> None:
    """Everything into `folder`, or an error and nothing: all members are looked at first."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpacking-") as place:
        try:
            if zipfile.is_zipfile(archive):
                _unzip(archive, place)
            else:
                _untar(archive, place)
        except DAMAGE as error:
            raise AssayError(
                f"{archive} cannot be unpacked ({error}).", hint="Fetch it again."
            ) from None
        for found in sorted(Path(place).iterdir()):
            _move(found, folder / found.name)


def unpack_folder(archive: Path, folder: str, into: Path) -> Path:
    """The folder `folder` of an archive, as `into/folder`."""
    target = into / folder
    with writing(target):
        into.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=into) as place:
            unpack(archive, Path(place))
            if not (Path(place) / folder).is_dir():
                names = ", ".join(sorted(path.name for path in Path(place).iterdir())) or "nothing"
                raise damaged(archive, f"it holds {names}", f"a folder {folder} was expected")
            shutil.move(Path(place) / folder, target)
    return target


def hostile(member: Member) -> str:
    """Why a member may not be unpacked, or ""."""
    if not member.plain:
        return "is no file, folder or link"
    if posixpath.isabs(member.name) or "\\" in member.name:
        return "has an absolute path"
    if _leaves(member.name):
        return "lies outside"
    if member.link and (posixpath.isabs(member.link) or _leaves(member.link)):
        return f"is a link that leads outside, to {member.link}"
    return ""


def _untar(archive: Path, place: str) -> None:
    with tarfile.open(archive) as tar:
        _look_at(archive, (_of_tar(info) for info in tar.getmembers()))
        tar.extractall(place, filter="data")  # a second guard, and owners and set-id bits go


def _unzip(archive: Path, place: str) -> None:
    with zipfile.ZipFile(archive) as pack:
        _look_at(archive, (_of_zip(pack, info) for info in pack.infolist()))
        pack.extractall(place)


def _look_at(archive: Path, members: Iterator[Member]) -> None:
    for member in members:
        if why := hostile(member):
            raise AssayError(
                f"{archive.name} is not unpacked: '{member.name}' in it {why}.",
                hint="Do not trust this archive; fetch it from its maker.",
            )


def _of_tar(info: tarfile.TarInfo) -> Member:
    """A symbolic link counts from its own folder, a hard link from the archive's top."""
    link = ""
    if info.issym():
        link = posixpath.join(posixpath.dirname(info.name), info.linkname)
    elif info.islnk():
        link = info.linkname
    return Member(info.name, link, info.isreg() or info.isdir() or info.issym() or info.islnk())


def _of_zip(pack: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    mode = info.external_attr >> 16
    plain = not stat.S_IFMT(mode) or stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return Member(info.filename, "", plain)  # Python writes a zip's links as files


def _leaves(path: str) -> bool:
    return posixpath.normpath(path).split("/")[0] == ".."


def _move(source: Path, target: Path) -> None:
    """Folders that are there already are joined, files replaced."""
    if source.is_dir() and not source.is_symlink() and target.is_dir():
        for found in sorted(source.iterdir()):
            _move(found, target / found.name)
        return
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    os.replace(source, target)

"""Archives made to write outside their folder: those published with CPython's fixes of June 2025
(gh-135034), and others of their class. Each is a list of members, written as tar or as zip."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import warnings
import zipfile
from pathlib import Path
from typing import NamedTuple

TYPES = {
    "file": tarfile.REGTYPE,
    "folder": tarfile.DIRTYPE,
    "symlink": tarfile.SYMTYPE,
    "hardlink": tarfile.LNKTYPE,
    "pipe": tarfile.FIFOTYPE,
    "device": tarfile.CHRTYPE,
    "block": tarfile.BLKTYPE,
    "unknown": b"Z",
}
MODES = {"folder": stat.S_IFDIR, "symlink": stat.S_IFLNK, "pipe": stat.S_IFIFO}
MODES |= {"device": stat.S_IFCHR, "block": stat.S_IFBLK}
PATH_MAX = 4096
STEPS = "abcdefghijklmnop"


class Entry(NamedTuple):
    kind: str
    name: str
    content: str = "evil"  # or the target of a link


def write(path: Path, entries: list[Entry]) -> Path:
    """A zip has no hard links: the name of one becomes a file."""
    if path.suffix == ".zip":
        _write_zip(path, entries)
    else:
        _write_tar(path, entries)
    return path


def _write_tar(path: Path, entries: list[Entry]) -> None:
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as tar:
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.type, info.mode = TYPES[entry.kind], 0o777
            data = os.fsencode(entry.content) if entry.kind == "file" else b""
            info.size = len(data)
            if entry.kind in {"symlink", "hardlink"}:
                info.linkname = entry.content
            tar.addfile(info, io.BytesIO(data))


def _write_zip(path: Path, entries: list[Entry]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for entry in entries:
            name = f"{entry.name}/" if entry.kind == "folder" else entry.name
            info = zipfile.ZipInfo(name.encode(errors="replace").decode())
            info.create_system = 3
            info.external_attr = (MODES.get(entry.kind, stat.S_IFREG) | 0o777) << 16
            pack.writestr(info, b"" if entry.kind == "folder" else os.fsencode(entry.content))


def _longer_than_path_max(target: Path) -> list[Entry]:
    """CVE-2025-4517: a chain of links whose path grows beyond PATH_MAX when it is resolved, so that
    realpath stops; then a file two folders above, and another through a hard link."""
    component = "d" * min(250, (PATH_MAX - len(str(target)) - 1) // (len(STEPS) + 1))
    entries, path = [], ""
    for step in STEPS:
        entries.append(Entry("folder", path + component))
        entries.append(Entry("symlink", path + step, component))
        path += f"{component}/"
    link = f"{'/'.join(STEPS)}/{'l' * 254}"
    return [
        *entries,
        Entry("symlink", link, "/".join([".."] * len(STEPS))),
        Entry("symlink", "escape", f"{link}/../.."),
        Entry("hardlink", "flaglink", "escape/flag"),
        Entry("file", "flaglink"),
        Entry("file", "escape/newfile"),
    ]


def attacks(target: Path) -> dict[str, list[Entry]]:
    """None may change a file outside of `target`, nor be unpacked in part."""
    outside = str(target.parent / "flag")
    return {
        "CVE-2025-4517": _longer_than_path_max(target),
        "CVE-2025-4138": [
            Entry("symlink", "escape", "link/link/../../flag"),
            Entry("symlink", "link", "./"),
        ],
        "CVE-2025-4330": [
            Entry("file", "a/t/dummy"),
            Entry("folder", "b"),
            Entry("symlink", "c", "a/t"),
            Entry("symlink", "c/escape", "../../flag"),
            Entry("symlink", "c", "b"),
            Entry("hardlink", "boom", "c/escape"),
            Entry("file", "boom"),
        ],
        "CVE-2025-4435": [
            Entry("symlink", "out", "../flag"),
            Entry("file", "out"),
            Entry("file", "good"),
        ],
        "CVE-2024-12718": [
            Entry("symlink", "up", "x/../.."),
            Entry("folder", "x"),
            Entry("folder", "up/private"),
        ],
        "CVE-2007-4559": [Entry("file", "../flag")],
        "a link and a file through it": [Entry("symlink", "a", ".."), Entry("file", "a/flag")],
        "an absolute path": [Entry("file", outside)],
        "an absolute link": [Entry("symlink", "a", outside), Entry("file", "a")],
        "an absolute hard link": [Entry("hardlink", "a", outside), Entry("file", "a")],
        "a hard link that climbs": [Entry("hardlink", "a", "../flag"), Entry("file", "a")],
        "a hard link to a link": [
            Entry("folder", "x"),
            Entry("symlink", "x/a", "../x"),
            Entry("hardlink", "b", "x/a"),
            Entry("symlink", "b/c", ".."),
        ],
        "a chain of links": [
            Entry("folder", "x/y"),
            Entry("symlink", "x/y/a", ".."),
            Entry("symlink", "b", "x/y/a/.."),
            Entry("symlink", "c", "b/.."),
            Entry("file", "c/flag"),
        ],
        "a link that is a folder later": [
            Entry("symlink", "a", "b"),
            Entry("folder", "b"),
            Entry("folder", "a"),
            Entry("file", "a/x"),
        ],
        "a folder that is a link later": [
            Entry("folder", "a"),
            Entry("folder", "b"),
            Entry("symlink", "a", "b"),
            Entry("file", "a/../../flag"),
        ],
        "a link to nothing, for a second archive": [
            Entry("folder", "p/q"),
            Entry("symlink", "p/q/r", "s/../.."),
        ],
        "a path that climbs within": [Entry("folder", "a"), Entry("file", "a/../../flag")],
        "a name of a link with a slash": [
            Entry("folder", "a"),
            Entry("symlink", "./b/", ".."),
            Entry("file", "b//flag"),
        ],
        "backslashes": [Entry("file", "..\\flag")],
        "a name that is not UTF-8": [Entry("file", "../\udcff\udc80")],
        "a pipe": [Entry("file", "good"), Entry("pipe", "bad")],
        "a device": [Entry("file", "good"), Entry("device", "bad")],
        "a block device": [Entry("file", "good"), Entry("block", "bad")],
        "two of one name": [Entry("file", "a"), Entry("file", "a")],
        "a file below a file": [Entry("file", "a"), Entry("file", "a/b")],
        "a folder on a file": [Entry("file", "a"), Entry("folder", "a")],
        "a file without a name": [Entry("file", "./.")],
        "a path that is too long": [Entry("file", "/".join(["d" * 100] * 12))],
        "a path that is too deep": [Entry("file", "/".join(["d"] * 70))],
    }


# What a zip says as well as a tar; others need hard links, or types that a zip has not.
TAR_ONLY = {
    *("an absolute hard link", "a hard link that climbs", "a name that is not UTF-8"),
    *("a hard link to a link", "a name of a link with a slash"),
}


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: kind and rights, target of a link, content."""
    seen: dict[str, tuple[object, ...]] = {str(folder): (folder.stat().st_mode,)}
    for place, folders, names, opened in os.fwalk(folder):  # also where a path is too long
        for name in (*folders, *names):
            status, content = os.lstat(name, dir_fd=opened), b""
            if stat.S_ISREG(status.st_mode):
                with open(os.open(name, os.O_RDONLY, dir_fd=opened), "rb") as file:
                    content = file.read()
            elif stat.S_ISLNK(status.st_mode):
                content = os.fsencode(os.readlink(name, dir_fd=opened))
            seen[f"{place}/{name}"] = (status.st_mode, status.st_nlink, content)
    return seen

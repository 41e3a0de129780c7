"""Extract the members of an archive below an open folder without following links.

A link has to point at a file or folder of its own archive, and neither its path nor its target may
pass through another link. So symbolic links are extracted last.
"""

from __future__ import annotations

import os
import posixpath
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from assay.core.archive_members import Member, explain_archive_errors, printable
from assay.core.descriptors import NEW_FILE, Parts, mode_of, open_folder
from assay.core.errors import AssayError

# Large enough for ImageNet, which is 1.3 million files of 150 GB.
MAX_MEMBERS = 10_000_000
MAX_BYTES = 1 << 40  # 1 TiB, of all files together, counted while they are written
MAX_PATH = 1024  # bytes of a member's path, and of a link's target
MAX_DEPTH = 64  # folders

_CHUNK = 1 << 20
_DISTRUST = "Do not trust this archive; fetch it from its maker."
_TOO_LARGE_HINT = "If you trust this archive, unpack it with tar or unzip instead."


class Unpacking:
    """Extracts members of an archive to an open folder and counts the bytes written."""

    def __init__(self, archive: Path, top: int) -> None:
        self._archive, self._top = archive, top
        self._written = 0

    def extract_all(self, members: Iterator[Member]) -> None:
        links: list[Member] = []
        number = 0
        while True:
            with explain_archive_errors(self._archive):
                member = next(members, None)
            if member is None:
                break
            number += 1
            if number > MAX_MEMBERS:
                raise self._error(member, f"is one of more than {MAX_MEMBERS:,}", _TOO_LARGE_HINT)
            if member.kind == "symbolic link":
                self._check(member)
                links.append(member)
            else:
                self._extract(member)
        for link in links:
            self._extract(link)

    def _extract(self, member: Member) -> None:
        parts = self._check(member)
        make = {
            "file": self._extract_file,
            "hard link": self._make_hard_link,
            "symbolic link": self._make_symbolic_link,
        }
        try:
            if member.kind == "folder":
                with open_folder(self._top, parts, create=True):
                    return
            with open_folder(self._top, parts[:-1], create=True) as folder:
                make[member.kind](member, parts, folder)
        except NotADirectoryError:
            raise self._error(member, "passes through a link or a file") from None
        except FileExistsError:
            raise self._error(member, "has the name of another member") from None
        except OSError as error:
            raise OSError(error.errno, error.strerror, member.name) from None

    def _extract_file(self, member: Member, parts: Parts, folder: int) -> None:
        mode = 0o777 if member.executable else 0o666
        descriptor = os.open(parts[-1], NEW_FILE, mode, dir_fd=folder)
        with open(descriptor, "wb", buffering=0) as file, self._open(member) as source:
            while True:
                with explain_archive_errors(self._archive):
                    chunk = memoryview(source.read(_CHUNK))
                if not chunk:
                    return
                self._written += len(chunk)
                if self._written > MAX_BYTES:
                    size = f"{MAX_BYTES / (1 << 40):g} TiB"
                    raise self._error(member, f"makes it larger than {size}", _TOO_LARGE_HINT)
                while chunk:
                    chunk = chunk[file.write(chunk) :]

    def _make_hard_link(self, member: Member, parts: Parts, folder: int) -> None:
        if posixpath.isabs(member.target):
            raise self._error(member, f"is a link to a path outside, {member.target}")
        source = _split(member.target)
        if not stat.S_ISREG(self._mode_of(source)):
            raise self._error(
                member, f"is a hard link to {member.target}, which is no earlier file"
            )
        with open_folder(self._top, source[:-1]) as source_folder:
            ends = {"src_dir_fd": source_folder, "dst_dir_fd": folder}
            os.link(source[-1], parts[-1], **ends, follow_symlinks=False)

    def _make_symbolic_link(self, member: Member, parts: Parts, folder: int) -> None:
        """`..` is allowed only at the start of the target: behind a name, its meaning could change
        when another archive puts a link there."""
        steps = _split(member.target)
        up = next((index for index, step in enumerate(steps) if step != ".."), len(steps))
        start = len(parts) - 1 - up
        target = (*parts[: max(0, start)], *steps[up:])
        if posixpath.isabs(member.target) or start < 0 or not target:
            raise self._error(member, f"is a link to a path outside, {member.target}")
        if ".." in target or not stat.S_IFMT(self._mode_of(target)):
            why = "which is no file or folder of the archive, or leads through another link"
            raise self._error(member, f"is a link to {member.target}, {why}")
        os.symlink(member.target, parts[-1], dir_fd=folder)

    def _mode_of(self, parts: Parts) -> int:
        """Mode of an extracted file or folder; 0 if there is none, or a link."""
        try:
            with open_folder(self._top, parts[:-1]) as folder:
                mode = mode_of(parts[-1], folder) if parts and ".." not in parts else 0
        except (FileNotFoundError, NotADirectoryError):
            return 0
        return 0 if stat.S_ISLNK(mode) else mode

    def _open(self, member: Member) -> IO[bytes]:
        with explain_archive_errors(self._archive):
            source = member.open()
            if source is None:
                raise tarfile.ReadError("no content")
            return source

    def _check(self, member: Member) -> Parts:
        """Check a member and return the parts of its path."""
        parts = _split(member.name)
        if why := _fault(member, parts):
            raise self._error(member, why)
        if len(parts) > MAX_DEPTH:
            raise self._error(member, f"lies deeper than {MAX_DEPTH} folders", _TOO_LARGE_HINT)
        for text in (member.name, member.target):
            if len(os.fsencode(text)) > MAX_PATH:
                why = f"has a path longer than {MAX_PATH} bytes"
                raise self._error(member, why, _TOO_LARGE_HINT)
        return parts

    def _error(self, member: Member, why: str, hint: str = _DISTRUST) -> AssayError:
        text = f"{self._archive.name} is not unpacked: '{member.name}' in it {why}."
        return AssayError(printable(text), hint=hint)


def _fault(member: Member, parts: Parts) -> str:
    """Why a member may not be unpacked, or ""."""
    if member.kind == "other":
        return "is no file, folder or link"
    if posixpath.isabs(member.name):
        return "has an absolute path"
    if ".." in parts:
        return "lies outside, or its path has '..' in it"
    if "\\" in member.name or "\0" in member.name + member.target:
        return "has a backslash or a zero byte in its path"
    if not parts and member.kind != "folder":
        return "has no name"
    return ""


def _split(path: str) -> Parts:
    return tuple(part for part in path.split("/") if part not in ("", "."))

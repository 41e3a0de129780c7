"""Unpack untrusted archives: everything inside the folder, or nothing.

tarfile and zipfile only read. tarfile's own filter is not relied on: Python before 3.11.4 lacks it,
and before 3.11.13, 3.12.11 and 3.13.4 paths longer than PATH_MAX pass it (CVE-2025-4517).
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from assay.core.archive_members import members, printable
from assay.core.corrupt import damage_error
from assay.core.descriptors import join_folders, mode_of, open_folder
from assay.core.errors import NotPossibleError
from assay.core.unpacking import Unpacking

_HINTS = {
    errno.EEXIST: "Move away what is there, or choose another folder.",
    errno.ENOTEMPTY: "Move away what is there, or choose another folder.",
    errno.ENAMETOOLONG: "Choose a folder on a file system that takes such names.",
    errno.ENOSPC: "Make room there, or choose another folder.",
    errno.EDQUOT: "Make room there, or choose another folder.",
}


def unpack(archive: Path, folder: Path) -> None:
    """Unpack everything into `folder`, or nothing and raise. Existing folders are merged and files
    replaced; existing links are not followed."""
    with _explain_error(archive, folder):
        folder.mkdir(parents=True, exist_ok=True)
        with _unpack_member(archive, folder) as (fresh, top, spare):
            join_folders(fresh, top, spare)


def unpack_folder(archive: Path, folder: str, into: Path) -> Path:
    """Unpack the folder `folder` of an archive to `into/folder`."""
    with _explain_error(archive, into / folder):
        into.mkdir(parents=True, exist_ok=True)
        with _unpack_member(archive, into) as (fresh, top, _):
            if not stat.S_ISDIR(mode_of(folder, fresh)):
                names = ", ".join(map(printable, sorted(os.listdir(fresh)))) or "nothing"
                raise damage_error(archive, f"it holds {names}", f"a folder {folder} was expected")
            os.rename(folder, folder, src_dir_fd=fresh, dst_dir_fd=top)
    return into / folder


@contextmanager
def _unpack_member(archive: Path, folder: Path) -> Iterator[tuple[int, int, int]]:
    """Three open folders: the archive's members, `folder`, and a spare one. The first and the last
    lie in a temporary folder inside `folder`."""
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    temporary = f".unpacking-{secrets.token_hex(6)}"
    try:
        os.mkdir(temporary, 0o700, dir_fd=top)
        with (
            open_folder(top, (temporary, "fresh"), create=True) as fresh,
            open_folder(top, (temporary, "spare"), create=True) as spare,
        ):
            with closing(members(archive)) as all_members:
                Unpacking(archive, fresh).extract_all(all_members)
            yield fresh, top, spare
    finally:
        shutil.rmtree(temporary, ignore_errors=True, dir_fd=top)
        os.close(top)


@contextmanager
def _explain_error(archive: Path, folder: Path) -> Iterator[None]:
    """Convert an OSError to a NotPossibleError."""
    try:
        yield
    except OSError as error:
        what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        raise NotPossibleError(
            printable(f"{archive} cannot be unpacked into {folder} ({what})."),
            hint=_HINTS.get(error.errno or 0, "Choose a folder that can be written."),
        ) from None

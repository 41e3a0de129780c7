"""Open and move files relative to an open folder without following links.

Each step of a path is opened relative to the folder before it, with O_NOFOLLOW. Neither a link that
is there nor one that appears meanwhile leads out of the first folder.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from assay.core.systems import flags

FOLDER = flags(os, ("O_RDONLY", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"))
NEW_FILE = flags(os, ("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))

Parts = tuple[str, ...]  # a path, split at its slashes


@contextmanager
def open_folder(top: int, parts: Sequence[str], create: bool = False) -> Iterator[int]:
    """A folder below the open folder `top`; NotADirectoryError if the path contains a link or file.
    `create` makes missing folders."""
    folder = os.dup(top)
    try:
        for part in parts:
            below = _open_or_create(part, folder) if create else _open(part, folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def mode_of(name: str, folder: int) -> int:
    """The mode of a file, folder or link; 0 if there is none."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def join_folders(source: int, target: int, spare: int) -> None:
    """Move the content of `source` into `target`: all of it, or nothing and an OSError.

    Existing folders are merged and files replaced. A link, or a file where the other side has a
    folder, is an error before anything is moved. Replaced files stay in `spare` until the end, so
    that an error can be undone.
    """
    moves = list(_moves(source, target))
    try:
        for number, move in enumerate(moves):
            with _ends(move, source, target) as (old, new):
                if move.replaces:
                    os.rename(move.name, str(number), src_dir_fd=new, dst_dir_fd=spare)
                os.rename(move.name, move.name, src_dir_fd=old, dst_dir_fd=new)
    except BaseException:
        for number, move in reversed(list(enumerate(moves))):
            with suppress(OSError), _ends(move, source, target) as (old, new):
                _undo(move, number, old, new, spare)
        raise


class _Move(NamedTuple):
    folder: Parts  # on both sides
    name: str
    replaces: bool  # a file or link of that name


def _open(name: str, folder: int) -> int:
    return os.open(name, FOLDER, dir_fd=folder)


def _open_or_create(name: str, folder: int) -> int:
    try:
        return _open(name, folder)
    except FileNotFoundError:
        os.mkdir(name, dir_fd=folder)
        return _open(name, folder)


def _moves(source: int, target: int, parts: Parts = ()) -> Iterator[_Move]:
    for name in sorted(os.listdir(source)):
        old, new = mode_of(name, source), mode_of(name, target)
        if stat.S_ISDIR(old) and stat.S_ISDIR(new):
            with open_folder(source, (name,)) as below, open_folder(target, (name,)) as joined:
                yield from _moves(below, joined, (*parts, name))
        elif new and stat.S_ISDIR(old) != stat.S_ISDIR(new):
            what = "a link" if stat.S_ISLNK(new) else "a folder" if stat.S_ISDIR(new) else "a file"
            path = "/".join((*parts, name))
            raise FileExistsError(errno.EEXIST, f"{what} of that name is there already", path)
        else:
            yield _Move(parts, name, replaces=bool(new))


@contextmanager
def _ends(move: _Move, source: int, target: int) -> Iterator[tuple[int, int]]:
    with open_folder(source, move.folder) as old, open_folder(target, move.folder) as new:
        yield old, new


def _undo(move: _Move, number: int, old: int, new: int, spare: int) -> None:
    """Undo a move that is complete, half complete or not started."""
    if not mode_of(move.name, old):
        os.rename(move.name, move.name, src_dir_fd=new, dst_dir_fd=old)
    if move.replaces and mode_of(str(number), spare):
        os.rename(str(number), move.name, src_dir_fd=spare, dst_dir_fd=new)

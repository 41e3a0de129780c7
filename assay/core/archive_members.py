"""Members of an untrusted tar or zip archive; nothing is written."""

from __future__ import annotations

import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Literal, NamedTuple

from assay.core.corrupt import DAMAGED_HINT
from assay.core.errors import AssayError

try:
    from lzma import LZMAError
except ImportError:  # a Python without it reads no .xz
    LZMAError = zlib.error  # type: ignore[assignment,misc]

DAMAGE = (tarfile.TarError, LZMAError, *DAMAGED_HINT)  # what a damaged archive may raise
MAX_HEADER = 1 << 20  # bytes that tarfile reads at once: a long name, pax records

_READ_SIZE = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
Kind = Literal["file", "folder", "symbolic link", "hard link", "other"]


class Member(NamedTuple):
    name: str  # bytes that are not UTF-8 are surrogates
    kind: Kind
    target: str  # of a link
    executable: bool
    open: Callable[[], IO[bytes] | None]


def is_archive(path: Path) -> bool:
    try:
        with tarfile.open(path, tarinfo=_Header):
            return True
    except tarfile.TarError:
        return zipfile.is_zipfile(path)
    except (EOFError, LZMAError, zlib.error):  # cut or damaged before the name of its first member
        return False


def members(archive: Path) -> Generator[Member]:
    """Members in order; each can be opened until the next is requested."""
    yield from (
        _read_zip_header(archive) if zipfile.is_zipfile(archive) else _read_tar_header(archive)
    )


@contextmanager
def explain_archive_errors(archive: Path) -> Iterator[None]:
    """Convert errors of a damaged or truncated archive, not those of writing."""
    try:
        yield
    except DAMAGE as error:
        sentence = printable(f"{archive} cannot be unpacked ({error}).")
        raise AssayError(sentence, hint="Fetch it again.") from None


def printable(text: str) -> str:
    r"""Replace bytes that are not UTF-8 by `\udcff`: surrogates cannot be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()


class _Header(tarfile.TarInfo):
    """A member of a tar file. Headers that make tarfile loop, fill the memory or end early are
    errors."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) in (0, tarfile.BLOCKSIZE) and not any(buf):  # the end
                raise
            raise tarfile.ReadError(str(error)) from None
        if header.size < 0 or (header.type in _READ_SIZE and header.size > MAX_HEADER):
            raise tarfile.ReadError(f"a header of it says {header.size} bytes")
        return header


def _read_tar_header(archive: Path) -> Iterator[Member]:
    kinds: dict[bytes, Kind] = {
        **dict.fromkeys(tarfile.REGULAR_TYPES, "file"),
        tarfile.DIRTYPE: "folder",
        tarfile.SYMTYPE: "symbolic link",
        tarfile.LNKTYPE: "hard link",
    }
    with tarfile.open(archive, tarinfo=_Header, encoding="utf-8", errors="surrogateescape") as tar:
        while info := tar.next():
            if info.size < 0:  # by a pax record
                raise tarfile.ReadError(f"a header of it says {info.size} bytes")
            tar.members = []  # type: ignore[attr-defined]  # else each of millions stays in memory
            kind = kinds.get(info.type, "other")
            open_ = partial(tar.extractfile, info)
            yield Member(info.name, kind, info.linkname, bool(info.mode & 0o100), open_)


def _read_zip_header(archive: Path) -> Iterator[Member]:
    """Links, which zip stores as files with another mode, are "other"."""
    with zipfile.ZipFile(archive) as pack:
        for info in pack.infolist():
            mode = info.external_attr >> 16
            kind: Kind = "folder" if info.filename.endswith("/") else "file"
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                kind = "other"
            yield Member(info.filename, kind, "", bool(mode & 0o100), partial(pack.open, info))

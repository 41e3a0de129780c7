"""Get one file over HTTP: resumed where it was cut, checked, and there only when whole."""

from __future__ import annotations

import fcntl
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from assay.core.corrupt import writing
from assay.core.errors import AssayError, NotPossibleError
from assay.datasets.dataset import Remote

FRUITLESS = 3  # tries in a row that got nothing new, after which it is given up
_CHUNK = 1 << 20
_SILENCE = 60.0  # seconds without a byte that count as a cut
_GONE = 416  # the range asked for starts at or behind the end

DownloadProgress = Callable[
    [str, int, int | None], None
]  # file, bytes so far, bytes in all if known
Pause = Callable[[float], None]


@dataclass
class _Part:
    """The file so far, under another name until it is whole; it survives a lost process."""

    path: Path
    file: BinaryIO

    @property
    def size(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    @property
    def mark(self) -> Path:
        """Holds the server's mark of the version begun, so that two versions never mix."""
        return self.path.with_name(self.path.name + ".etag")

    def add(self, chunk: bytes) -> None:
        with writing(self.path):
            self.file.write(chunk)
            self.file.flush()

    def restart(self) -> None:
        self.file.truncate(0)
        self.mark.unlink(missing_ok=True)


def download(
    remote: Remote, folder: Path, progress: DownloadProgress, pause: Pause = time.sleep
) -> Path:
    """The whole file in `folder`; where that fails, what has come is kept for the next try."""
    target = folder / remote.file
    with writing(target), _part(folder / f".{remote.file}.part") as part:
        _receive_all(remote, part, progress, pause)
        try:
            check(remote, part.path)
        except AssayError:
            part.restart()  # nothing to go on with
            raise
        os.fsync(part.file.fileno())
        os.rename(part.path, target)
        part.mark.unlink(missing_ok=True)
    return target


def check(remote: Remote, path: Path) -> None:
    """Refuse a file that has not the published checksum."""
    import hashlib

    if not remote.checksum:
        return
    kind, _, expected = remote.checksum.partition(":")
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, kind).hexdigest()
    if found != expected:
        raise AssayError(
            f"{remote.file} has the {kind} checksum {found}, but {expected} was expected.",
            hint=f"Try again; if it stays so, {remote.url} serves another file than it did.",
        )


def _receive_all(remote: Remote, part: _Part, progress: DownloadProgress, pause: Pause) -> None:
    furthest, fruitless, trouble = part.size, 0, ""
    while fruitless < FRUITLESS:
        if trouble:
            pause(2.0**fruitless)
        try:
            if _receive(remote, part, progress):
                return
            trouble = "the connection was cut"
        except urllib.error.HTTPError as error:
            with error:
                if error.code < 500:
                    raise _refused(remote, part, f"{error.code} {error.reason}") from None
                trouble = f"{error.code} {error.reason}"
        except (http.client.HTTPException, OSError) as error:  # of the network: see _Part.add
            trouble = str(getattr(error, "reason", error)) or type(error).__name__
        fruitless = 0 if part.size > furthest else fruitless + 1
        furthest = max(furthest, part.size)
    raise _refused(remote, part, f"{trouble}, {FRUITLESS} times in a row without a new byte")


def _receive(remote: Remote, part: _Part, progress: DownloadProgress) -> bool:
    """Ask for what is missing and write it; whether the file is whole now."""
    request = urllib.request.Request(remote.url, headers=_headers(part))
    try:
        response = urllib.request.urlopen(request, timeout=_SILENCE)
    except urllib.error.HTTPError as error:
        if error.code != _GONE or not part.size:
            raise
        with error:
            if error.headers.get("Content-Range", "").endswith(f"/{part.size}"):
                return True
        part.restart()
        return False
    with response:
        if not _goes_on(response, part.size):
            part.restart()  # the server sends all of it, asked for or not
        if tag := response.headers.get("ETag", ""):
            part.mark.write_text(tag)
        left = response.headers.get("Content-Length", "").strip()
        total = part.size + int(left) if left.isascii() and left.isdecimal() else None
        while chunk := response.read(_CHUNK):
            part.add(chunk)
            progress(remote.file, part.size, total)
        return total is None or part.size == total


def _goes_on(response: http.client.HTTPResponse, size: int) -> bool:
    span = response.headers.get("Content-Range", "")
    return response.status == 206 and span.startswith(f"bytes {size}-")


def _headers(part: _Part) -> dict[str, str]:
    headers = {"User-Agent": "assay", "Accept-Encoding": "identity"}
    if part.size:
        headers["Range"] = f"bytes={part.size}-"
        if part.mark.is_file():
            headers["If-Range"] = part.mark.read_text()
    return headers


def _refused(remote: Remote, part: _Part, why: str) -> NotPossibleError:
    kept = f" {part.size} bytes are kept for the next try." if part.size else ""
    return NotPossibleError(
        f"{remote.file} could not be fetched from {remote.url}: {why}.{kept}",
        hint=f"Try again later, or put it by hand as {part.path.with_name(remote.file)}",
    )


@contextmanager
def _part(path: Path) -> Iterator[_Part]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AssayError(
                f"{path.name} is being fetched by another assay.", hint="Wait until it ends."
            ) from None
        yield _Part(path, file)

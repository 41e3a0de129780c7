"""Download one file over HTTP: resumable, checked, atomic."""

from __future__ import annotations

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

from assay.core.corrupt import explain_write_errors
from assay.core.errors import AssayError, NotPossibleError
from assay.core.systems import lock_file
from assay.datasets.dataset import Remote

MAX_FRUITLESS = 3  # consecutive attempts without new data before giving up
_CHUNK = 1 << 20
_SILENCE = 60.0  # seconds without data before a timeout
_GONE = 416  # the requested range starts at or after the end

DownloadProgress = Callable[
    [str, int, int | None], None
]  # file, bytes so far, total bytes if known
Pause = Callable[[float], None]


@dataclass
class _Part:
    """The partial file, under another name until it is complete; it survives a crash."""

    path: Path
    file: BinaryIO

    @property
    def size(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    @property
    def mark(self) -> Path:
        """File with the server's ETag, so that two versions never mix."""
        return self.path.with_name(self.path.name + ".etag")

    def add(self, chunk: bytes) -> None:
        with explain_write_errors(self.path):
            self.file.write(chunk)
            self.file.flush()

    def restart(self) -> None:
        self.file.truncate(0)
        self.mark.unlink(missing_ok=True)


def download(
    remote: Remote, folder: Path, progress: DownloadProgress, pause: Pause = time.sleep
) -> Path:
    """Download to `folder`; after a failure the partial file is kept for the next attempt."""
    target = folder / remote.file
    with explain_write_errors(target), _part(folder / f".{remote.file}.part") as part:
        _receive_all(remote, part, progress, pause)
        try:
            check(remote, part.path)
        except AssayError:
            part.restart()  # it cannot be resumed
            raise
        os.fsync(part.file.fileno())
        os.rename(part.path, target)
        part.mark.unlink(missing_ok=True)
    return target


def check(remote: Remote, path: Path) -> None:
    """Raise if a file does not have the published checksum."""
    import hashlib

    if not remote.checksum:
        return
    kind, _, expected = remote.checksum.partition(":")
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, kind).hexdigest()
    if digest != expected:
        raise AssayError(
            f"{remote.file} has the {kind} checksum {digest}, but {expected} was expected.",
            hint=f"Try again; if it persists, the file at {remote.url} has changed.",
        )


def _receive_all(remote: Remote, part: _Part, progress: DownloadProgress, pause: Pause) -> None:
    received, fruitless, trouble = part.size, 0, ""
    while fruitless < MAX_FRUITLESS:
        if trouble:
            pause(2.0**fruitless)
        try:
            if _receive(remote, part, progress):
                return
            trouble = "the connection was cut"
        except urllib.error.HTTPError as error:
            with error:
                if error.code < 500:
                    raise _download_error(remote, part, f"{error.code} {error.reason}") from None
                trouble = f"{error.code} {error.reason}"
        except (http.client.HTTPException, OSError) as error:  # of the network: see _Part.add
            trouble = str(getattr(error, "reason", error)) or type(error).__name__
        fruitless = 0 if part.size > received else fruitless + 1
        received = max(received, part.size)
    raise _download_error(
        remote, part, f"{trouble}, {MAX_FRUITLESS} times in a row without a new byte"
    )


def _receive(remote: Remote, part: _Part, progress: DownloadProgress) -> bool:
    """Download what is missing; returns whether the file is complete."""
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
        if not _is_continuation(response, part.size):
            part.restart()  # the server ignores the range
        if tag := response.headers.get("ETag", ""):
            part.mark.write_text(tag)
        left = response.headers.get("Content-Length", "").strip()
        total = part.size + int(left) if left.isascii() and left.isdecimal() else None
        while chunk := response.read(_CHUNK):
            part.add(chunk)
            progress(remote.file, part.size, total)
        return total is None or part.size == total


def _is_continuation(response: http.client.HTTPResponse, size: int) -> bool:
    span = response.headers.get("Content-Range", "")
    return response.status == 206 and span.startswith(f"bytes {size}-")


def _headers(part: _Part) -> dict[str, str]:
    headers = {"User-Agent": "assay", "Accept-Encoding": "identity"}
    if part.size:
        headers["Range"] = f"bytes={part.size}-"
        if part.mark.is_file():
            headers["If-Range"] = part.mark.read_text()
    return headers


def _download_error(remote: Remote, part: _Part, why: str) -> NotPossibleError:
    note = f" {part.size} bytes are kept for the next try." if part.size else ""
    return NotPossibleError(
        f"{remote.file} could not be fetched from {remote.url}: {why}.{note}",
        hint=f"Try again later, or save it as {part.path.with_name(remote.file)}",
    )


@contextmanager
def _part(path: Path) -> Iterator[_Part]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab") as file:
        try:
            lock_file(file, wait=False)
        except BlockingIOError:
            raise AssayError(
                f"{path.name} is being fetched by another assay.", hint="Wait until it ends."
            ) from None
        yield _Part(path, file)

"""Files from http(s) and file URLs: checked, resumed where they were cut, and whole or not there.

What has arrived so far lies beside the target as NAME.part, with the server's mark of its version
in NAME.part.mark, so that the next try, also of another process, goes on where this one ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from assay import __version__
from assay.errors import AssayError, NotPossibleError, UsageError

Progress = Callable[[int, int], None]  # bytes so far, bytes in all or 0 where not known

TRIES = 4
CHUNK = 1 << 20
PATIENCE = 60.0  # seconds a server may be silent


def fetch(
    url: str,
    target: Path,
    sha256: str = "",
    progress: Progress = lambda done, total: None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """`target` is there afterwards, whole and with the right checksum, or an error says why not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    scheme = urlsplit(url).scheme
    if scheme in {"http", "https"}:
        _download(url, part, progress, pause)
    elif scheme in {"file", ""}:
        _copy(url, part)
    elif scheme == "gs":
        raise NotPossibleError(
            f"{url} lies in Google Cloud Storage, which assay cannot fetch from yet.",
            hint=f"Copy it to {target} by other means; what is there is not fetched.",
        )
    else:
        raise UsageError(
            f"'{url}' has the scheme {scheme}, which is not known.", hint="Use https, http or file."
        )
    _check(part, sha256, url)
    part.rename(target)
    _mark(part).unlink(missing_ok=True)


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _CutError(Exception):
    """The connection ended before the file did; what came is kept."""


def _download(url: str, part: Path, progress: Progress, pause: Callable[[float], None]) -> None:
    for attempt in range(TRIES):
        try:
            return _once(url, part, progress)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500 or attempt == TRIES - 1:
                raise AssayError(
                    f"{url} answered {error.code} {error.reason}.", hint="Is the address right?"
                ) from None
        except (OSError, http.client.HTTPException, _CutError) as error:
            if attempt == TRIES - 1:
                kept = part.stat().st_size if part.exists() else 0
                raise AssayError(
                    f"{url} could not be fetched ({error}), {kept} bytes of it are kept.",
                    hint="Try again: it goes on where it stopped.",
                ) from None
        pause(2.0**attempt)


def _once(url: str, part: Path, progress: Progress) -> None:
    """One connection. Raises _CutError when it ends early."""
    have = part.stat().st_size if part.exists() and _mark(part).exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": f"assay/{__version__}"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", _mark(part).read_text())
    try:
        answer = urllib.request.urlopen(request, timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        if have and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()  # what is here is no beginning of what is there
            raise _CutError("the part kept does not fit any more") from error
        raise
    with answer:
        have = have if answer.status == http.client.PARTIAL_CONTENT else 0
        _note_version(answer, part)
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length else 0
        with part.open("ab" if have else "wb") as file:
            _receive(answer, file, have, total, progress)
    if total and part.stat().st_size < total:
        raise _CutError("the connection was cut")


def _receive(
    answer: http.client.HTTPResponse, file: BinaryIO, done: int, total: int, progress: Progress
) -> None:
    while chunk := answer.read1(CHUNK):
        file.write(chunk)
        done += len(chunk)
        progress(done, total)


def _note_version(answer: http.client.HTTPResponse, part: Path) -> None:
    """A weak tag does not promise the same bytes, so it allows no resuming (RFC 9110, 13.1.5)."""
    tag = answer.headers.get("ETag", "")
    mark = tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified", "")
    if mark and answer.headers.get("Accept-Ranges", "bytes") != "none":
        _mark(part).write_text(mark)
    else:
        _mark(part).unlink(missing_ok=True)


def _copy(url: str, part: Path) -> None:
    split = urlsplit(url)
    source = Path(unquote(split.path))
    if split.netloc not in {"", "localhost"}:
        raise UsageError(f"'{url}' names a file of another machine.", hint="As in file:///data/x")
    try:
        shutil.copyfile(source, part)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise AssayError(
            f"{source} cannot be copied ({error.strerror}).", hint="Is the path right?"
        ) from None


def _check(part: Path, sha256: str, url: str) -> None:
    if not sha256:
        return
    found = checksum(part)
    if found != sha256:
        part.unlink()
        _mark(part).unlink(missing_ok=True)
        raise AssayError(
            f"{url} has the checksum {found}, but {sha256} was expected; it is thrown away.",
            hint="Is it the right version of the file?",
        )


def _mark(part: Path) -> Path:
    return part.with_name(f"{part.name}.mark")

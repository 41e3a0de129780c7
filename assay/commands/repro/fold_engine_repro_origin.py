"""Results that lie elsewhere: in a run folder, or below the URL of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.core import codec
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_path
from assay.core.formats import MOST_BYTES
from assay.core.records import Result
from assay.core.redaction import safe_text
from assay.stores import folders

_MOST_RESULTS = 1000  # of a run that is read by its URL
_TIMEOUT = 30.0  # seconds


def results(origin: str, text: str) -> Iterator[Result]:
    """Of a run, or of one result of it; `text` may tell its number as RUN/NNN."""
    if origin.startswith(("http://", "https://")):
        return _from_url(origin.rstrip("/"), text)
    return _from_folder(user_path(origin))


def _from_folder(folder: Path) -> Iterator[Result]:
    cases = [folder] if (folder / "result.json").is_file() else folders.finished(folder)
    if not cases:
        raise UsageError(f"{folder} is no run folder.", hint="A run folder holds NNN/result.json.")
    return map(folders.read_result, cases)


def _from_url(url: str, text: str) -> Iterator[Result]:
    """A result's own address, that of its folder, or that of its run, whose results are counted."""
    if url.endswith(".json"):
        yield _decoded(url)
        return
    number = text.rpartition("/")[2]
    if number.isdecimal():
        yield _decoded(f"{url}/{int(number):03d}/result.json")
        return
    if (data := _fetched(f"{url}/result.json")) is not None:
        yield codec.decode(data, Result, safe_text(url))
        return
    for count in range(1, _MOST_RESULTS):
        place = f"{url}/{count:03d}/result.json"
        if (data := _fetched(place)) is None:
            return
        yield codec.decode(data, Result, safe_text(place))


def _decoded(url: str) -> Result:
    data = _fetched(url)
    if data is None:
        raise UsageError(
            f"There is no result at {safe_text(url)}.", hint="Give the URL of a run's folder."
        )
    return codec.decode(data, Result, safe_text(url))


def _fetched(url: str) -> bytes | None:
    """None where the server says that there is nothing."""
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=_TIMEOUT) as answer:
            data: bytes = answer.read(MOST_BYTES + 1)
    except HTTPError as error:
        if error.code in (404, 410):
            return None
        raise AssayError(f"{safe_text(url)} answered {error.code}.", hint="Try again.") from None
    except (URLError, OSError, ValueError) as error:
        raise AssayError(f"{safe_text(url)} cannot be read ({error}).", hint="Try again.") from None
    if len(data) > MOST_BYTES:
        raise AssayError(
            f"{safe_text(url)} is too large.", hint="Download it, and give the folder."
        )
    return data

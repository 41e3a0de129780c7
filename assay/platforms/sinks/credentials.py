"""Temporary use of a service account key, which assay never stores."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from assay.core import objects
from assay.core.errors import UsageError
from assay.core.redaction import safe_message

VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
_MAX_BYTES = 65_536  # bytes of a key file
_FIELDS = ("client_email", "private_key", "token_uri")


@contextmanager
def use_key(url: str) -> Iterator[None]:
    """Use the key file at a URL for Google's libraries in the block. "": their default."""
    if not url:
        yield
        return
    before = os.environ.get(VARIABLE)
    with tempfile.TemporaryDirectory() as folder:  # readable by its owner only
        path = _local(url, Path(folder))
        _check(path, url)
        os.environ[VARIABLE] = str(path)
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(VARIABLE, None)
            else:
                os.environ[VARIABLE] = before


def _local(url: str, folder: Path) -> Path:
    scheme = urlsplit(url).scheme
    if scheme in ("", "file"):
        return Path(unquote(urlsplit(url).path)) if scheme else Path(url).expanduser()
    target = folder / "key.json"
    if objects.is_remote(url):
        objects.fetch(url, target)
    elif scheme in ("http", "https"):
        import urllib.error
        import urllib.request

        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                target.write_bytes(answer.read(_MAX_BYTES + 1))
        except (urllib.error.URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise UsageError(
                f"The key file {_display_url(url)} cannot be fetched: {reason}.",
                hint="Check its URL.",
            ) from None
    else:
        raise UsageError(
            f"The key file {_display_url(url)} has the scheme {scheme}.",
            hint="Use a path, file, gs or https.",
        )
    target.chmod(0o600)
    return target


def _check(path: Path, url: str) -> None:
    try:
        content = json.loads(path.read_bytes()[: _MAX_BYTES + 1])
    except OSError as error:
        raise UsageError(
            f"The key file {_display_url(url)} cannot be read ({error.strerror}).",
            hint="Check its path.",
        ) from None
    except ValueError:
        content = None
    missing = [name for name in _FIELDS if not isinstance(content, dict) or not content.get(name)]
    if missing or content.get("type") != "service_account":
        raise UsageError(
            f"{_display_url(url)} is not a key of a service account.",
            hint=f"A key is a JSON file with type, {', '.join(_FIELDS)}.",
        )


def _display_url(url: str) -> str:
    """The URL without its query, which may have a signature."""
    return safe_message(url.partition("?")[0])[:200]

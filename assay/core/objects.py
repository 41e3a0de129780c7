"""Objects in Google Cloud Storage, in S3 or in a folder, through fsspec.

Credentials are those of fsspec's clients (GOOGLE_APPLICATION_CREDENTIALS, gcloud's login,
AWS_PROFILE, an instance's role); none is ever part of a location.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.files import user_path
from assay.core.redaction import safe_message

_REMOTE = re.compile(r"(gs|s3)://([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(/.*)?", re.DOTALL)
_HINTS = {
    "gs": "Check your login: gcloud auth application-default login, GOOGLE_APPLICATION_CREDENTIALS",
    "s3": "Check your login: aws configure, AWS_PROFILE, AWS_ACCESS_KEY_ID.",
    "file": "Choose a writable folder.",
}
_EXTRA = {"gs": ("gcsfs", "gcs"), "s3": ("s3fs", "s3")}


class ServiceUnavailableError(AssayError):
    """No answer, or an error of the service: a later retry may succeed."""

    status = 3


def is_remote(location: str) -> bool:
    return location.startswith(("gs://", "s3://"))


def check_place(location: str) -> str:
    """Validate a location for objects; returns it without a trailing slash."""
    if is_remote(location):
        match = _REMOTE.fullmatch(location)
        path = (match[3] or "") if match else ""
        if match and path.isprintable() and ".." not in path.split("/") and "@" not in location:
            return location.rstrip("/")
    elif "://" not in location and location:
        return str(user_path(location).absolute())
    raise UsageError(
        f"'{safe_message(location)[:80]}' is not a location for objects.",
        hint="As in gs://bucket/prefix, s3://bucket/prefix or a folder.",
    )


def put_folder(folder: Path, location: str) -> int:
    """Upload all files of a folder under their relative names; returns their number."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    with open_file_system(location) as system:
        for path in files:
            target = f"{_strip_scheme(location)}/{path.relative_to(folder).as_posix()}"
            if not is_remote(location):
                Path(target).parent.mkdir(parents=True, exist_ok=True)
            system.put_file(str(path), target)
    return len(files)


def fetch(url: str, target: Path) -> None:
    """Download an object, or all below a prefix, to `target`: a file or a folder."""
    bare = _strip_scheme(check_place(url))
    with open_file_system(url) as system:
        if system.isdir(bare):
            names = [name for name in system.find(bare) if not name.endswith("/")]
            system.get(names, [f"{target}/{_relative_path(name, bare)}" for name in names])
        else:
            system.get_file(bare, str(target))


def _relative_path(name: str, prefix: str) -> str:
    """Relative path of an object, whose name is untrusted."""
    rest = name.removeprefix(f"{prefix}/")
    if {".", ".."} & set(rest.split("/")) or "\\" in rest or "\0" in rest:
        raise AssayError(
            f"{prefix} is not fetched: the object '{name}' in it would lie outside.",
            hint="Rename the object, or do not trust this bucket.",
        )
    return rest


def _strip_scheme(location: str) -> str:
    return location.partition("://")[2] if is_remote(location) else location


@contextmanager
def open_file_system(location: str) -> Iterator[Any]:
    """fsspec's file system for a location; converts its errors."""
    scheme = location.partition("://")[0] if is_remote(location) else "file"
    try:
        system = _system(scheme)
    except ImportError:
        package, extra = _EXTRA.get(scheme, ("fsspec", "gcs"))
        raise NotPossibleError(
            f"{scheme}:// needs the package {package}, which is not installed.",
            hint=f"pip install 'assay-lab[{extra}]'",
        ) from None
    try:
        yield system
    except FileNotFoundError:
        raise AssayError(
            f"There is no {safe_message(location)}, or its bucket does not exist.",
            hint="Check the name; assay does not create buckets.",
        ) from None
    except PermissionError:
        raise _refusal(location, scheme) from None
    except _client_errors(scheme) as error:
        text = safe_message(" ".join(str(error).split()))[:200] or type(error).__name__
        if any(word in text for word in ("Forbidden", "401", "403", "AccessDenied", "nvalid Cred")):
            raise _refusal(location, scheme) from None
        raise ServiceUnavailableError(
            f"{safe_message(location)} cannot be reached: {text}.", hint="Try again later."
        ) from None


def _refusal(location: str, scheme: str) -> NotPossibleError:
    return NotPossibleError(
        f"You have no permission for {safe_message(location)}, or no credentials.",
        hint=_HINTS[scheme],
    )


def _system(scheme: str) -> Any:
    """For an emulator without credentials: gcsfs's base class, which speaks plain HTTP."""
    if scheme == "gs":
        from gcsfs.core import GCSFileSystem

        emulated = os.environ.get("STORAGE_EMULATOR_HOST")
        options = {"token": "anon", "project": "emulated"} if emulated else {}
        return GCSFileSystem(skip_instance_cache=True, **options)
    import fsspec

    return fsspec.filesystem(scheme, **({"skip_instance_cache": True} if scheme == "s3" else {}))


def _client_errors(scheme: str) -> tuple[type[Exception], ...]:
    """Exceptions of the clients."""
    errors: list[type[Exception]] = [OSError, TimeoutError]
    if scheme in _EXTRA:
        import aiohttp

        errors.append(aiohttp.ClientError)
    if scheme == "gs":
        from gcsfs.retry import HttpError
        from google.auth.exceptions import GoogleAuthError

        errors += [HttpError, GoogleAuthError]
    if scheme == "s3":
        from botocore.exceptions import BotoCoreError, ClientError

        errors += [BotoCoreError, ClientError]
    return tuple(errors)

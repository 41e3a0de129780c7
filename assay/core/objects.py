"""Objects in Google Cloud Storage, in S3 or in a folder, through fsspec.

Credentials are found as fsspec's own clients find them (GOOGLE_APPLICATION_CREDENTIALS, gcloud's
login, AWS_PROFILE, an instance's role); none is ever part of a place.
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
from assay.core.redaction import without_tokens

_REMOTE = re.compile(r"(gs|s3)://([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(/.*)?", re.DOTALL)
_HINTS = {
    "gs": "See who you are: gcloud auth application-default login, GOOGLE_APPLICATION_CREDENTIALS.",
    "s3": "See who you are: aws configure, AWS_PROFILE, AWS_ACCESS_KEY_ID.",
    "file": "Choose a folder that can be written.",
}
_EXTRA = {"gs": ("gcsfs", "gcs"), "s3": ("s3fs", "s3")}


class ServiceAwayError(AssayError):
    """It did not answer, or not well: another try, later, may do."""

    status = 3


def is_remote(place: str) -> bool:
    return place.startswith(("gs://", "s3://"))


def check_place(place: str) -> str:
    """A place that objects can go to, without its slash at the end; refused if it is none."""
    if is_remote(place):
        match = _REMOTE.fullmatch(place)
        path = (match[3] or "") if match else ""
        if match and path.isprintable() and ".." not in path.split("/") and "@" not in place:
            return place.rstrip("/")
    elif "://" not in place and place:
        return str(user_path(place).absolute())
    raise UsageError(
        f"'{without_tokens(place)[:80]}' is no place for objects.",
        hint="As in gs://bucket/prefix, s3://bucket/prefix or a folder.",
    )


def put_folder(folder: Path, place: str) -> int:
    """All files of a folder below `place`, under their own names; how many."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    with talking(place) as system:
        for path in files:
            target = f"{_bare(place)}/{path.relative_to(folder).as_posix()}"
            if not is_remote(place):
                Path(target).parent.mkdir(parents=True, exist_ok=True)
            system.put_file(str(path), target)
    return len(files)


def fetch(url: str, target: Path) -> None:
    """An object, or all below a prefix, as `target`: a file or a folder."""
    bare = _bare(check_place(url))
    with talking(url) as system:
        if system.isdir(bare):
            names = [name for name in system.find(bare) if not name.endswith("/")]
            system.get(names, [f"{target}/{_below(name, bare)}" for name in names])
        else:
            system.get_file(bare, str(target))


def _below(name: str, prefix: str) -> str:
    """What follows the prefix in an object's name, which anyone who fills the bucket chooses."""
    rest = name.removeprefix(f"{prefix}/")
    if {".", ".."} & set(rest.split("/")) or "\\" in rest or "\0" in rest:
        raise AssayError(
            f"{prefix} is not fetched: the object '{name}' in it would lie outside.",
            hint="Do not trust what is in this bucket, or rename the object.",
        )
    return rest


def _bare(place: str) -> str:
    return place.partition("://")[2] if is_remote(place) else place


@contextmanager
def talking(place: str) -> Iterator[Any]:
    """fsspec's file system for a place; what goes wrong with it is said in words."""
    scheme = place.partition("://")[0] if is_remote(place) else "file"
    try:
        system = _system(scheme)
    except ImportError:
        package, extra = _EXTRA.get(scheme, ("fsspec", "gcs"))
        raise NotPossibleError(
            f"{scheme}:// needs the package {package}, which is not installed.",
            hint=f"pip install 'assay[{extra}]'",
        ) from None
    try:
        yield system
    except FileNotFoundError:
        raise AssayError(
            f"There is no {without_tokens(place)}, or its bucket is not there.",
            hint="See the name; a bucket is not made by assay.",
        ) from None
    except PermissionError:
        raise _refused(place, scheme) from None
    except _troubles(scheme) as error:
        text = without_tokens(" ".join(str(error).split()))[:200] or type(error).__name__
        if any(word in text for word in ("Forbidden", "401", "403", "AccessDenied", "nvalid Cred")):
            raise _refused(place, scheme) from None
        raise ServiceAwayError(
            f"{without_tokens(place)} cannot be reached: {text}.", hint="Try again later."
        ) from None


def _refused(place: str, scheme: str) -> NotPossibleError:
    return NotPossibleError(
        f"You have no permission for {without_tokens(place)}, or no credentials.",
        hint=_HINTS[scheme],
    )


def _system(scheme: str) -> Any:
    """An emulator takes nobody's credentials. gcsfs's plain class speaks HTTP alone, as it does."""
    if scheme == "gs":
        from gcsfs.core import GCSFileSystem

        emulated = os.environ.get("STORAGE_EMULATOR_HOST")
        given = {"token": "anon", "project": "emulated"} if emulated else {}
        return GCSFileSystem(skip_instance_cache=True, **given)
    import fsspec

    return fsspec.filesystem(scheme, **({"skip_instance_cache": True} if scheme == "s3" else {}))


def _troubles(scheme: str) -> tuple[type[Exception], ...]:
    """What the clients raise that is not an OSError."""
    found: list[type[Exception]] = [OSError, TimeoutError]
    if scheme in _EXTRA:
        import aiohttp

        found.append(aiohttp.ClientError)
    if scheme == "gs":
        from gcsfs.retry import HttpError
        from google.auth.exceptions import GoogleAuthError

        found += [HttpError, GoogleAuthError]
    if scheme == "s3":
        from botocore.exceptions import BotoCoreError, ClientError

        found += [BotoCoreError, ClientError]
    return tuple(found)

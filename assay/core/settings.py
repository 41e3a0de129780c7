"""Locations of the store and of local files."""

from __future__ import annotations

import os
import re
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.files import user_path

Home = str | Path | None
REMOTE_SCHEMES = ("postgresql", "postgres")  # stores that are not a folder
_MISTYPED = re.compile(r"postgres(ql)?(:(?!//)|//)")


def place(chosen: Home = None) -> str:
    """The store: `chosen`, else $ASSAY_STORE, else $ASSAY_HOME, else ~/.assay. A folder, or
    `NAME://PLACE`; `sqlite:FOLDER` is the same as the folder."""
    usual = os.environ.get("ASSAY_STORE") or os.environ.get("ASSAY_HOME")
    text = str(chosen or usual or "~/.assay")
    if _MISTYPED.match(text):  # else it would be a folder; what follows may hold a password
        raise UsageError(
            "The URL of a store in PostgreSQL begins with postgresql://, and this one does not.",
            hint="As in postgresql://USER@HOST:5432/DATABASE",
        )
    if text.startswith("sqlite:"):
        text = text.removeprefix("sqlite:").removeprefix("//")
    return text if "://" in text else str(user_path(text))


def home(chosen: Home = None) -> Path:
    """Local folder for data and the doctor's findings: the store, if it is a folder."""
    name, mark, rest = place(chosen).partition("://")
    if name not in REMOTE_SCHEMES:
        return Path(rest if mark else name)
    own = os.environ.get("ASSAY_HOME", "")
    return user_path("~/.assay" if not own or "://" in own else own)


def runs(chosen: Home = None) -> Path:
    """Local folder for runs; a remote store gets its own, with a name that reveals no password."""
    name, _, rest = place(chosen).partition("://")
    if name not in REMOTE_SCHEMES:
        return home(chosen) / "runs"
    base, _, query = rest.rpartition("@")[2].partition("?")
    words = [word for word in query.split("&") if not word.startswith(("password=", "files="))]
    import hashlib  # not at every start

    digest = hashlib.sha256("&".join((base, *sorted(words))).encode()).hexdigest()[:8]
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", base).strip("-.")[:60]
    return home(chosen) / "stores" / f"{plain}-{digest}" / "runs"


SINKS = "sinks.toml"  # in the home folder: where every run is uploaded
SHARED_CACHE = "ASSAY_SHARED_CACHE"  # a folder that the processes of one run share
CACHED_WEIGHTS = "ASSAY_KEPT_WEIGHTS"  # folder with weights that are created once

"""Repositories and data that a benchmark needs, in PerfZero's syntax."""

from __future__ import annotations

import posixpath
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from assay.core.errors import UsageError


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A git repository, and where its checkout lies."""

    url: str
    name: str
    folder: Path
    branch: str = ""
    commit: str = ""

    def __post_init__(self) -> None:
        for text in (self.url, self.branch, self.commit):
            if text.startswith("-"):  # git would parse it as an option
                raise UsageError(f"'{text}' begins with a dash.", hint="As in: url;branch;hash")


class Download(msgspec.Struct, frozen=True, kw_only=True):
    """A file or an archive, and where it goes."""

    url: str
    path: Path
    sha256: str = ""


def repositories(text: str, folder: Path) -> list[Repository]:
    """`url;branch;hash,url;branch,…`: branch and hash may be left out."""
    return [_repository(piece, folder) for piece in _pieces(text)]


def downloads(text: str, folder: Path) -> list[Download]:
    """`url;path;sha256=…,url,…`: path is below `folder`, and the URL's last part by default."""
    return [_download(piece, folder) for piece in _pieces(text)]


def _repository(piece: str, folder: Path) -> Repository:
    url, branch, commit, *more = [*piece.split(";"), "", ""][: max(3, piece.count(";") + 1)]
    if more or not url:
        raise UsageError(f"'{piece}' is no repository.", hint="As in: url;branch;hash")
    name = _last(url).removesuffix(".git")
    if not name or name in {".", ".."}:
        raise UsageError(
            f"'{url}' has no name at its end for a folder.", hint="As in: …/models.git"
        )
    return Repository(url=url, name=name, folder=folder / name, branch=branch, commit=commit)


def _download(piece: str, folder: Path) -> Download:
    url, *rest = (part.strip() for part in piece.split(";"))
    url = url.rstrip("*").rstrip("/")
    sums = [part for part in rest if part.startswith("sha256=")]
    paths = [part for part in rest if not part.startswith("sha256=") and part]
    if len(paths) > 1 or len(sums) > 1 or not url:
        raise UsageError(f"'{piece}' is no download.", hint="As in: url;path or url;path;sha256=…")
    path = paths[0] if paths else _last(url)
    if not path or posixpath.isabs(path) or ".." in path.split("/"):
        raise UsageError(
            f"'{path}' in '{piece}' does not lie below the data folder.",
            hint="Give a relative path, and another folder with --root_data_dir.",
        )
    sha256 = sums[0].removeprefix("sha256=").lower() if sums else ""
    return Download(url=url, path=folder / path, sha256=sha256)


def _last(url: str) -> str:
    """The last part of a URL's path; `git@host:name` has no path in the URL's sense."""
    path = urlsplit(url).path if "://" in url else url
    return path.rstrip("/").rpartition("/")[2].rpartition(":")[2]


def _pieces(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(",") if piece.strip()]

"""Files that a benchmark needs: downloaded, checked, unpacked, and named once they are whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

from assay.core import objects
from assay.core.archive_members import is_archive
from assay.core.archives import unpack
from assay.core.corrupt import explain_write_errors
from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.progress import ignore
from assay.datasets.dataset import Remote
from assay.datasets.download import DownloadProgress, check, download
from assay.formats.perfzero.setup import Download

_ARCHIVES = (".gz", ".tgz", ".tar", ".tbz", ".bz2", ".xz", ".zip")


def fetch_if_missing(wanted: Download, progress: DownloadProgress = ignore) -> bool:
    """Fetch a file, unpacked if it is an archive; return whether it had to be fetched. The file has
    its name only once it is whole and unpacked."""
    if wanted.path.exists():
        return False
    with explain_write_errors(wanted.path):
        wanted.path.parent.mkdir(parents=True, exist_ok=True)
    arrived = _download_temp(wanted, progress)
    if wanted.url.endswith(_ARCHIVES):
        try:
            _check_archive(wanted, arrived)
            if is_archive(arrived):
                unpack(arrived, wanted.path.parent)
        except AssayError:
            arrived.unlink()  # damaged or hostile: another try is to fetch it anew
            raise
    if wanted.path.exists():  # the archive held something of its own name
        arrived.unlink()
    else:
        arrived.rename(wanted.path)
    return True


def _check_archive(wanted: Download, arrived: Path) -> None:
    """Of a single file that is compressed by itself, or only called so, nothing is known."""
    sure = wanted.url.endswith((".tgz", ".tar", ".tbz", ".zip")) or ".tar." in wanted.url
    if sure and not is_archive(arrived):
        raise AssayError(
            f"{wanted.url} is named like an archive, but is none, or is cut.",
            hint="Look what its server sends; a page with an error, perhaps.",
        )


def _download_temp(wanted: Download, progress: DownloadProgress) -> Path:
    """The file, checked, under a name of its own."""
    folder, name = wanted.path.parent, f".{wanted.path.name}.arrived"
    checksum = f"sha256:{wanted.sha256}" if wanted.sha256 else ""
    remote = Remote(url=wanted.url, file=name, checksum=checksum)
    scheme = urlsplit(wanted.url).scheme
    if scheme in {"http", "https"}:
        try:
            return download(remote, folder, progress)
        except NotPossibleError as error:
            raise NotPossibleError(
                wanted.path.name + str(error).removeprefix(name), hint=_save_hint(wanted)
            ) from None
    if scheme in {"file", ""}:
        return _copy_file(remote, folder / name)
    if scheme in {"gs", "s3"}:
        return _fetch_object(remote, folder / name)
    raise UsageError(
        f"'{wanted.url}' has the scheme {scheme}, which is not known.",
        hint="Use https, http, gs, s3 or file.",
    )


def _save_hint(wanted: Download) -> str:
    """What to do by hand: a file that is there already is neither fetched nor unpacked."""
    unpacked = f", and unpack it in {wanted.path.parent}" * wanted.url.endswith(_ARCHIVES)
    return f"Try again later, or save it as {wanted.path}{unpacked}."


def _fetch_object(remote: Remote, target: Path) -> Path:
    """An object, or all below a prefix."""
    objects.fetch(remote.url, target)
    try:
        if target.is_file():
            check(remote, target)
    except AssayError:
        target.unlink()
        raise
    return target


def _copy_file(remote: Remote, target: Path) -> Path:
    source = Path(unquote(urlsplit(remote.url).path))
    if not source.is_file():
        raise UsageError(f"There is no file {source}.", hint="As in file:///home/me/data.tar.gz")
    with explain_write_errors(target):
        shutil.copyfile(source, target)
    try:
        check(remote, target)
    except AssayError:
        target.unlink()
        raise
    return target

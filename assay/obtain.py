"""Data a benchmark needs: fetched unless it is there, and unpacked where it is an archive."""

from __future__ import annotations

from assay.benches.setup import Download
from assay.errors import AssayError
from assay.fetch import Progress, fetch
from assay.unpack import is_archive, unpack

_ARCHIVES = (".gz", ".tgz", ".tar", ".tbz", ".bz2", ".xz", ".zip")


def obtain(download: Download, progress: Progress) -> bool:
    """Whether it had to be fetched. The file has its name only once it is whole and unpacked."""
    if download.path.exists():
        return False
    arriving = download.path.with_name(f".{download.path.name}.arriving")
    if not arriving.exists():
        fetch(download.url, arriving, download.sha256, progress)
    if download.url.endswith(_ARCHIVES) and is_archive(arriving):
        try:
            unpack(arriving, download.path.parent)
        except AssayError:
            arriving.unlink()  # damaged or hostile: another try is to fetch it anew
            raise
    if download.path.exists():  # the archive held something of its own name
        arriving.unlink()
    else:
        arriving.rename(download.path)
    return True

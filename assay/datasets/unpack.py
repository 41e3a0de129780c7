"""Unpack an archive of others: only plain files and folders, only inside, all of it or nothing."""

from __future__ import annotations

import gzip
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path, PurePosixPath

from assay.datasets.damage import damaged, writing
from assay.errors import AssayError


def unpack(archive: Path, folder: str, into: Path) -> Path:
    """The folder `folder` of a tar archive, as `into/folder`."""
    target = into / folder
    into.mkdir(parents=True, exist_ok=True)
    with writing(target), tempfile.TemporaryDirectory(prefix=".unpacking-", dir=into) as place:
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(place, filter=_plain)
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            expected = f"a tar archive with a folder {folder} was expected"
            raise damaged(archive, f"unpacking it failed ({error})", expected) from None
        if not (Path(place) / folder).is_dir():
            names = ", ".join(sorted(path.name for path in Path(place).iterdir())) or "nothing"
            raise damaged(archive, f"it holds {names}", f"a folder {folder} was expected")
        shutil.move(Path(place) / folder, target)
    return target


def _plain(member: tarfile.TarInfo, place: str) -> tarfile.TarInfo | None:
    """tarfile's data filter, and stricter: it would keep links inside and mend absolute names."""
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or not (member.isfile() or member.isdir()):
        raise AssayError(
            f"The archive holds '{member.name}', which is a link, a device or outside its folder.",
            hint="It may be hostile: nothing was unpacked. Get it from the official place.",
        )
    return tarfile.data_filter(member, place)

"""One folder out of a dataset's archive, all of it or nothing."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from assay import unpack
from assay.datasets.damage import damaged, writing


def unpack_folder(archive: Path, folder: str, into: Path) -> Path:
    """The folder `folder` of an archive, as `into/folder`."""
    target = into / folder
    with writing(target):
        into.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=into) as place:
            unpack.unpack(archive, Path(place))
            if not (Path(place) / folder).is_dir():
                names = ", ".join(sorted(path.name for path in Path(place).iterdir())) or "nothing"
                raise damaged(archive, f"it holds {names}", f"a folder {folder} was expected")
            shutil.move(Path(place) / folder, target)
    return target

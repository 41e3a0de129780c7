"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import AssayError


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`; what is written there takes its name at the end."""
    place = Path(path).expanduser()
    temporary = place.with_name(f".{os.getpid()}-{place.name}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, place)
    except OSError as error:
        raise AssayError(
            f"{place} cannot be written ({error.strerror}).", hint="Give another place."
        ) from None
    finally:
        if temporary.parent.is_dir():
            temporary.unlink(missing_ok=True)

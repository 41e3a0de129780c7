"""What is to be sent, on the disk until it has arrived: a service that is away loses nothing."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from assay.core import codec, objects, settings
from assay.core.corrupt import writing
from assay.core.errors import StoreError
from assay.core.files import modified, write_whole
from assay.core.settings import Home
from assay.platforms.sinks import bigquery, metrics, tables
from assay.platforms.sinks.bigquery import Delivered

FOLDER = "outbox"  # below the home folder


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """Rows or a folder, and where they go."""

    sink: Literal["bigquery", "objects", "metrics"]
    place: str
    table: str = ""
    rows: list[dict[str, Any]] = []
    folder: str = ""

    @property
    def name(self) -> str:
        """The same for the same parcel: what is put in twice is there once."""
        keys = [str(row.get(_key(self), "")) for row in self.rows]
        text = codec.encode([self.sink, self.place, self.table, keys, self.folder])
        return hashlib.sha256(text).hexdigest()[:24]


def post(parcels: Sequence[Parcel], home: Home) -> None:
    """On the disk before anything is sent."""
    for parcel in parcels:
        path = _path(parcel, home)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, codec.encode(parcel))


@contextmanager
def only_sender(home: Home) -> Iterator[None]:
    """Two at a time would send one parcel twice: the second waits."""
    folder = settings.home(home) / FOLDER
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def waiting(home: Home) -> Iterator[Parcel]:
    """What did not arrive yet, oldest first."""
    folder = settings.home(home) / FOLDER
    whole = folder.glob("[!.]*.json")  # those with a dot are being written
    for path in sorted(whole, key=modified):
        try:
            yield msgspec.json.decode(path.read_bytes(), type=Parcel)
        except FileNotFoundError:  # it arrived meanwhile
            continue
        except msgspec.DecodeError:
            raise StoreError(f"{path} is no parcel.", hint="Move it away.") from None


def arrived(parcel: Parcel, home: Home) -> None:
    _path(parcel, home).unlink(missing_ok=True)


def deliver(parcel: Parcel) -> Delivered:
    """Raises AssayError where it does not arrive; it stays in the outbox then."""
    if parcel.sink == "bigquery":
        return bigquery.deliver(bigquery.parse(parcel.place), tables.get(parcel.table), parcel.rows)
    if parcel.sink == "metrics":
        return metrics.append(Path(parcel.place), parcel.rows)
    return Delivered(objects.put_folder(Path(parcel.folder), parcel.place))


def _key(parcel: Parcel) -> str:
    return tables.get(parcel.table).key if parcel.table else "id"


def _path(parcel: Parcel, home: Home) -> Path:
    return settings.home(home) / FOLDER / f"{parcel.name}.json"

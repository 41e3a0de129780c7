"""Where results go beside the store, and how each of them fared there."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.records import SCHEMA


class Sinks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[sinks]` of a plan file, `sinks.toml` of the home folder, flags of `assay upload`."""

    bigquery: str = ""  # project:dataset.table
    table: str = "assay"  # which columns: assay, perfzero, keras-benchmarks
    objects: str = ""  # gs://…, s3://… or a folder
    metrics: str = ""  # a file of JSON lines, as CloudWatch reads them
    key: str = ""  # a key file of Google Cloud; "": as its libraries find one


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """One parcel: rows or a folder, to one place."""

    sink: str
    place: str
    arrived: bool
    sent: int = 0
    known: int = 0  # were there before
    text: str = ""

    @property
    def line(self) -> str:
        return f"{self.sink} {self.place}: {self.text}"


class Uploads(msgspec.Struct, frozen=True, kw_only=True):
    """All that was to be sent."""

    uploads: tuple[Upload, ...] = ()
    schema: int = SCHEMA
    kind: Literal["uploads"] = "uploads"

    @property
    def status(self) -> int:
        return 0 if all(one.arrived for one in self.uploads) else 1

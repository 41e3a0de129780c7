"""Sinks of results, and outcomes of uploads."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.records import SCHEMA


class Sinks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[sinks]` of a plan file, `sinks.toml` of the home folder, flags of `assay upload`."""

    bigquery: str = ""  # project:dataset.table
    table: str = "assay"  # kind of columns: assay, perfzero, keras-benchmarks
    objects: str = ""  # gs://…, s3://… or a folder
    metrics: str = ""  # a file of JSON lines for CloudWatch
    key: str = ""  # a key file of Google Cloud; "": the libraries' default


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of sending rows or a folder to one sink."""

    sink: str
    place: str
    arrived: bool
    sent: int = 0
    known: int = 0  # existing ones
    text: str = ""
    id: str = ""  # in the outbox
    earlier: bool = False  # of an earlier command, or only listed

    @property
    def line(self) -> str:
        return f"{self.sink} {self.place}: {self.text}"


class Uploads(msgspec.Struct, frozen=True, kw_only=True):
    """Outcomes of all uploads."""

    uploads: tuple[Upload, ...] = ()
    schema: int = SCHEMA
    kind: Literal["uploads"] = "uploads"

    @property
    def status(self) -> int:
        """1 if an upload of this command did not arrive."""
        return 0 if all(upload.arrived or upload.earlier for upload in self.uploads) else 1

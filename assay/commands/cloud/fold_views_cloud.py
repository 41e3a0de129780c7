"""Machines of a cloud → a table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.core.findings import Output, Table
from assay.core.records import SCHEMA
from assay.platforms.cloud.provider import Machine


def output(found: Sequence[Machine], notes: Sequence[str] = ()) -> Output:
    rows = tuple(
        (
            *(one.name, one.zone, one.status, one.type, one.external_ip or one.internal_ip),
            *(str(one.local_disks or ""), "" if one.ours else "not assay's"),
        )
        for one in found
    )
    columns = ("machine", "zone", "status", "type", "address", "local disks", "")
    document = {
        "schema": SCHEMA,
        "kind": "machines",
        "machines": [msgspec.to_builtins(one) for one in found],
        "notes": list(notes),
    }
    return Output(
        tables=(Table(columns=columns, rows=rows, notes=tuple(notes)),), document=document
    )

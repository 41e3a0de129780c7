"""What was sent elsewhere → a table."""

from __future__ import annotations

import msgspec

from assay.core.findings import Output, Table
from assay.platforms.sinks.records import Uploads


def output(found: Uploads) -> Output:
    waiting = sum(not one.arrived for one in found.uploads)
    note = f"{waiting} did not arrive; to try again: assay upload --pending" if waiting else ""
    return Output(
        tables=(
            Table(
                columns=("sink", "place", "what became of it"),
                rows=tuple((one.sink, one.place, one.text) for one in found.uploads),
                notes=(note,) if note else (),
            ),
        ),
        document=msgspec.to_builtins(found),
    )


def lines(found: Uploads) -> list[str]:
    """For a run that has uploaded by itself."""
    return [one.line for one in found.uploads]

"""A copy between stores → what it found and did."""

from __future__ import annotations

from assay.core.findings import Copied, Output, Table
from assay.core.records import SCHEMA


def output(found: Copied) -> Output:
    counts = {"runs": found.runs, "results": found.results, "copied": found.copied}
    counts["there before"] = found.results - found.copied
    return Output(
        tables=(
            Table(
                columns=tuple(counts),
                rows=(tuple(map(str, counts.values())),),
                numeric=frozenset(counts),
            ),
        ),
        document={
            "schema": SCHEMA,
            "kind": "store-copy",
            "runs": found.runs,
            "results": found.results,
            "copied": found.copied,
            "problems": list(found.problems),
        },
    )

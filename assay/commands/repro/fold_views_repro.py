"""Whether a result was reproduced → lines for people, and its document."""

from __future__ import annotations

from assay.core.differences import Reproduction
from assay.core.findings import Output, Table


def output(found: Reproduction) -> Output:
    rows = [
        ("result", found.id),
        ("repro id", found.repro),
        ("command", found.command),
        ("inputs", f"sha256 {found.inputs[:16]}…"),
        *(("missing", what) for what in found.lacking),
        *(("changed", what) for what in found.changed),
        *([("measured as", found.again)] if found.again else []),
        *(("written", name) for name in found.files),
    ]
    table = Table(columns=("", "what"), rows=tuple(rows), title=f"{found.id} {found.sentence}")
    return Output(tables=(table,), document=found)

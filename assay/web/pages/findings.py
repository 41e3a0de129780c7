"""What changed in the series of a store, for the first page."""

from __future__ import annotations

import msgspec

from assay.core.contracts import Store
from assay.web.page import Cell


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One series that changed."""

    series: str
    metric: str
    case: str
    machine: str
    change: float  # ratio
    since: str
    worse: bool

    def row(self) -> tuple[Cell, ...]:
        return (
            Cell(text=self.case, to=f"/history/{self.series}/{self.metric}"),
            Cell(text=self.metric),
            Cell(text=f"{100 * (self.change - 1):+.1f} %", style="bad" if self.worse else "good"),
            Cell(text=self.since[:16].replace("T", " ")),
            Cell(text=self.machine),
        )

    def document(self) -> dict[str, object]:
        plain: dict[str, object] = msgspec.to_builtins(self)
        return plain


def recent_findings(store: Store) -> list[Finding]:
    return []

"""A result's summary: made once, and kept in the store until the analysis has a new version."""

from __future__ import annotations

from assay.core.contracts import Store
from assay.core.findings import ANALYSIS, Reading
from assay.core.records import Result


def read(store: Store, result: Result) -> Reading:
    """The result with the summary that the store keeps, or with a new one, kept from now on."""
    summary = store.summary(result.id, ANALYSIS)
    if summary is None:
        from assay.stats.summary import summarize  # with numpy: showing what is kept needs none

        summary = summarize(result)
        store.keep_summary(result.id, ANALYSIS, summary)
    return Reading(result=result, summary=summary)

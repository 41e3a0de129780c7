"""Summaries of results, cached in the store by version of the analysis."""

from __future__ import annotations

from assay.core.contracts import Store
from assay.core.findings import ANALYSIS, Reading
from assay.core.records import Result


def read(store: Store, result: Result) -> Reading:
    """The result with its stored summary, or with a new one, which is then stored."""
    summary = store.summary(result.id, ANALYSIS)
    if summary is None:
        from assay.stats.summary import summarize  # late: stored summaries need no numpy

        summary = summarize(result)
        store.keep_summary(result.id, ANALYSIS, summary)
    return Reading(result=result, summary=summary)

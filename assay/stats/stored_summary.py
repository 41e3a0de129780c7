"""Summaries of results, cached in the store by version of the analysis."""

from __future__ import annotations

from assay.core.contracts import Store
from assay.core.findings import ANALYSIS_VERSION, SummarizedResult
from assay.core.records import Result


def read(store: Store, result: Result) -> SummarizedResult:
    """The result with its stored summary, or with a new one, which is then stored."""
    summary = store.summary(result.id, ANALYSIS_VERSION)
    if summary is None:
        from assay.stats.summary import summarize  # late: stored summaries need no numpy

        summary = summarize(result)
        store.keep_summary(result.id, ANALYSIS_VERSION, summary)
    return SummarizedResult(result=result, summary=summary)

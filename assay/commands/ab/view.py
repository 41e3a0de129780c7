"""A comparison → a table, its verdict in words, and its JSON document."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from assay.core.findings import Output, Table
from assay.core.units import human
from assay.stats.paired_ratio import Comparison

_WORDS = {
    "faster": "faster: the candidate's {metric} is {change} than the baseline's",
    "slower": "slower: the candidate's {metric} is {change} than the baseline's",
    "same": "same: they differ by less than {minimum:.3g} %",
    "cannot-tell": "cannot-tell: the interval still holds both a change and none",
}


def output(found: Comparison) -> Output:
    return Output(tables=(comparison_table(found),), document=comparison_document(found))


def comparison_table(found: Comparison) -> Table:
    """One row a contender; the verdict and what must be said beside it stand below."""
    ratio = found.ratio
    interval = f"{ratio.low:.4f} – {ratio.high:.4f}" if ratio.n else ""
    times = [human(v, found.unit) if v == v else "" for v in found.middles or (math.nan, math.nan)]
    return Table(
        columns=("", "contender", found.metric, "ratio", "98 % interval", "pairs"),
        rows=(
            ("baseline", found.baseline, times[0], "", "", ""),
            (
                *("candidate", found.candidate, times[1]),
                *(f"{ratio.value:.4f}" if ratio.n else "", interval, str(ratio.n)),
            ),
        ),
        numeric=frozenset({found.metric, "ratio", "98 % interval", "pairs"}),
        title=headline(found),
        notes=(*_verdict_notes(found), *found.notes),
    )


def headline(found: Comparison) -> str:
    if not found.ratio.n:
        return "cannot-tell: there is nothing to compare"
    percent = 100 * (found.ratio.value - 1)
    return _WORDS[found.verdict].format(
        minimum=100 * found.minimum,
        metric=found.metric,
        change=f"{abs(percent):.2f} % {'higher' if percent > 0 else 'lower'}",
    )


def comparison_document(found: Comparison) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(found)
    first = ("schema", "kind", "metric", "verdict", "ratio", "pairs")
    return {name: plain[name] for name in (*first, *plain)}


def _verdict_notes(found: Comparison) -> list[str]:
    lines = list(found.failures)
    lines += [found.ended] if found.ended else []
    if math.isfinite(found.spread):
        lines.append(
            f"from pair to pair of processes the ratio varies by {100 * found.spread:.2g} % "
            "(standard deviation)"
        )
    if _seems_wrong(found):
        lines.append(
            "the ratio is the median over turns taken side by side; the times are medians over "
            "whole processes, and need not divide to it"
        )
    return lines


def _seems_wrong(found: Comparison) -> bool:
    """Whether a reader who divides the times gets something else than the ratio."""
    if not found.ratio.n or not all(value > 0 for value in found.middles or (0,)):
        return False
    divided = found.middles[1] / found.middles[0]
    return abs(math.log(divided / found.ratio.value)) > found.minimum

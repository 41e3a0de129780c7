"""A comparison → a table, its verdict in words, and its JSON document."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from assay.core.errors import AssayError
from assay.core.findings import Output, Table
from assay.core.units import difference, human, percent_change, span
from assay.reporting.python_view import States
from assay.stats.paired_ratio import Comparison
from assay.stats.sequential import LEVEL_NOTE

_WORDS = {
    "faster": "faster: the candidate's {metric} is {change} than the baseline's",
    "slower": "slower: the candidate's {metric} is {change} than the baseline's",
    "same": "same: they differ by less than {minimum:.3g} %",
    "cannot-tell": "cannot-tell: the interval contains both a change and no change",
}
_WINNERS = {"faster": "candidate", "slower": "baseline"}


def output(comparison: Comparison) -> Output:
    return Output(tables=(comparison_table(comparison),), document=comparison_document(comparison))


def comparison_table(comparison: Comparison) -> Table:
    """One row per contender; the verdict is the title, notes follow."""
    ratio = comparison.ratio
    interval = span(ratio.low, ratio.high, "{:.4f}".format) if ratio.n else ""
    times = [
        human(v, comparison.unit) if v == v else ""
        for v in comparison.middles or (math.nan, math.nan)
    ]
    return Table(
        columns=("", "contender", comparison.metric, "ratio", "98 % interval", "pairs"),
        rows=(
            ("baseline", comparison.baseline, times[0], "", "", ""),
            (
                *("candidate", comparison.candidate, times[1]),
                *(f"{ratio.value:.4f}" if ratio.n else "", interval, str(ratio.n)),
            ),
        ),
        numeric=frozenset({comparison.metric, "ratio", "98 % interval", "pairs"}),
        title=headline(comparison),
        notes=(*_verdict_notes(comparison), *comparison.notes, *([LEVEL_NOTE] if ratio.n else [])),
    )


def headline(comparison: Comparison) -> str:
    if not comparison.ratio.n:
        return "cannot-tell: there is nothing to compare"
    ratio = comparison.ratio.value
    return _WORDS[comparison.verdict].format(
        minimum=100 * comparison.minimum,
        metric=comparison.metric,
        change=f"{difference(ratio)} {'higher' if ratio > 1 else 'lower'}",
    )


def progress_line(comparison: Comparison) -> str:
    """The ratio after a pair; its verdict only when it counts, which is at the end."""
    ratio = comparison.ratio
    decided = comparison.ended and comparison.verdict != "cannot-tell"
    interval = span(ratio.low, ratio.high, percent_change)
    verdict = comparison.verdict if decided else "undecided"
    return f"pair {ratio.n}: {percent_change(ratio.value)} ({interval}), {verdict}"


def states(comparisons: Iterator[Comparison]) -> States[Comparison]:
    """A comparison for Python: it prints as its table."""
    return States(comparisons, output, _pairs, faster)


def faster(comparison: Comparison) -> str:
    """The key of the case that is faster."""
    if comparison.verdict not in _WINNERS:
        raise AssayError(f"Neither is faster: {headline(comparison)}.")
    return str(getattr(comparison, _WINNERS[comparison.verdict]))


def _pairs(comparison: Comparison) -> list[dict[str, Any]]:
    plain: list[dict[str, Any]] = msgspec.to_builtins(comparison.pairs)
    return plain


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(comparison)
    first = ("schema", "kind", "metric", "verdict", "ratio", "pairs")
    return {name: plain[name] for name in (*first, *plain)}


def _verdict_notes(comparison: Comparison) -> list[str]:
    lines = list(comparison.failures)
    lines += [comparison.ended] if comparison.ended else []
    if math.isfinite(comparison.spread):
        lines.append(
            f"from pair to pair of processes the ratio varies by {100 * comparison.spread:.2g} % "
            "(standard deviation)"
        )
    if _differs_visibly(comparison):
        lines.append(
            "the ratio is the median over turns taken side by side; the times are medians over "
            "whole processes, so their quotient may differ"
        )
    return lines


def _differs_visibly(comparison: Comparison) -> bool:
    """Whether the quotient of the times differs visibly from the ratio."""
    if not comparison.ratio.n or not all(value > 0 for value in comparison.middles or (0,)):
        return False
    divided = comparison.middles[1] / comparison.middles[0]
    return abs(math.log(divided / comparison.ratio.value)) > comparison.minimum

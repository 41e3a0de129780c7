"""Two sets of results → a table of their cases, one of their means, and the JSON document."""

from __future__ import annotations

from collections.abc import Sequence

from assay.commands.compare.api import Differences
from assay.core.findings import Output, Quantity, Table
from assay.core.units import human, span
from assay.stats.compare_sets import Difference, GroupMean

FEW_PROCESSES = (
    "processes, so the interval is widened by 25 %; --processes 5 of assay run gives enough"
)


def output(comparison: Differences) -> Output:
    tables = [cases_table(comparison)]
    if comparison.means:
        tables.append(means_table(comparison.means))
    return Output(tables=tuple(tables), document=comparison, values=_values(comparison.differences))


def cases_table(comparison: Differences) -> Table:
    first, second = _headings(comparison)
    return Table(
        columns=("case", "metric", first, second, "ratio", "95 % interval", "verdict"),
        rows=tuple(_row(difference) for difference in comparison.differences),
        numeric=frozenset({first, second, "ratio", "95 % interval"}),
        notes=(
            *_difference_notes(comparison.differences),
            *_few_processes_notes(comparison.differences),
            *comparison.notes,
        ),
        shortened=frozenset({"case"}),
        spare=("metric",)
        if len({difference.metric for difference in comparison.differences}) == 1
        else (),
    )


def means_table(means: Sequence[GroupMean]) -> Table:
    return Table(
        title="geometric means",
        columns=("group", "metric", "cases", "ratio", "95 % interval", "verdict"),
        rows=tuple(
            (
                mean.group or "all cases",
                mean.metric,
                str(mean.ratio.n),
                f"{mean.ratio.value:.3f}",
                _span(mean.ratio.low, mean.ratio.high),
                mean.verdict,
            )
            for mean in means
        ),
        numeric=frozenset({"cases", "ratio", "95 % interval"}),
    )


def _headings(comparison: Differences) -> tuple[str, str]:
    if comparison.baseline == comparison.candidate:
        return "baseline", "candidate"
    return comparison.baseline, comparison.candidate


def _row(difference: Difference) -> tuple[str, ...]:
    compared = difference.verdict != "not-comparable"
    return (
        difference.key,
        difference.metric,
        _with_count(difference.first),
        _with_count(difference.second),
        f"{difference.ratio:.3f}" if compared and difference.ratio == difference.ratio else "",
        _span(difference.low, difference.high) if compared else "",
        difference.verdict,
    )


def _span(low: float, high: float) -> str:
    return span(low, high, "{:.3f}".format)


def _with_count(quantity: Quantity) -> str:
    return f"{human(quantity.value, quantity.unit)} (n={quantity.n})"


def _difference_notes(differences: Sequence[Difference]) -> list[str]:
    """Notes on differences, each printed once."""
    cases: dict[str, list[str]] = {}
    for difference in differences:
        for note in difference.notes:
            if difference.key not in cases.setdefault(note, []):
                cases[note].append(difference.key)
    count = len({difference.key for difference in differences})
    common = [note for note, keys in cases.items() if len(keys) == count]
    lines = [f"differs: {'; '.join(common)}"] if common else []
    for key in dict.fromkeys(difference.key for difference in differences):
        own = [note for note, keys in cases.items() if key in keys and note not in common]
        lines += [f"{key} differs: {'; '.join(own)}"] if own else []
    return lines


def _few_processes_notes(differences: Sequence[Difference]) -> list[str]:
    counts = [min(difference.first.n, difference.second.n) for difference in differences]
    smallest = min(counts, default=4)
    return [f"some have fewer than 4 {FEW_PROCESSES}"] if smallest < 4 else []


def _values(differences: Sequence[Difference]) -> Table:
    columns = ("case", "metric", "unit", "baseline", "candidate", "ratio", "low", "high", "verdict")
    return Table(
        columns=columns,
        rows=tuple(
            (
                *(difference.key, difference.metric, difference.first.unit),
                *map(
                    repr,
                    (
                        difference.first.value,
                        difference.second.value,
                        difference.ratio,
                        difference.low,
                        difference.high,
                    ),
                ),
                difference.verdict,
            )
            for difference in differences
        ),
    )

"""Two sets of results → a table of their cases, one of their means, and the JSON document."""

from __future__ import annotations

from collections.abc import Sequence

from assay.commands.compare.api import Differences
from assay.core.findings import Output, Quantity, Table
from assay.core.units import human
from assay.stats.compare_sets import Difference, GroupMean

FEW = "processes, so the interval is widened by 25 %; --processes 5 of assay run gives enough"


def output(found: Differences) -> Output:
    tables = [cases_table(found)]
    if found.means:
        tables.append(means_table(found.means))
    return Output(tables=tuple(tables), document=found, values=_values(found.differences))


def cases_table(found: Differences) -> Table:
    first, second = _headings(found)
    return Table(
        columns=("case", "metric", first, second, "ratio", "95 % interval", "verdict"),
        rows=tuple(_row(one) for one in found.differences),
        numeric=frozenset({first, second, "ratio", "95 % interval"}),
        notes=(*_differing(found.differences), *_few(found.differences), *found.notes),
        shortened=frozenset({"case"}),
        spare=("metric",) if len({one.metric for one in found.differences}) == 1 else (),
    )


def means_table(means: Sequence[GroupMean]) -> Table:
    return Table(
        title="geometric means",
        columns=("of", "metric", "cases", "ratio", "95 % interval", "verdict"),
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


def _headings(found: Differences) -> tuple[str, str]:
    if found.baseline == found.candidate:
        return "baseline", "candidate"
    return found.baseline, found.candidate


def _row(one: Difference) -> tuple[str, ...]:
    compared = one.verdict != "not-comparable"
    return (
        one.key,
        one.metric,
        _with_count(one.first),
        _with_count(one.second),
        f"{one.ratio:.3f}" if compared else "",
        _span(one.low, one.high) if compared else "",
        one.verdict,
    )


def _span(low: float, high: float) -> str:
    return f"{low:.3f} – {high:.3f}"


def _with_count(quantity: Quantity) -> str:
    return f"{human(quantity.value, quantity.unit)} (n={quantity.n})"


def _differing(differences: Sequence[Difference]) -> list[str]:
    """What differs in one case, or in all of them, is said once."""
    cases: dict[str, list[str]] = {}
    for one in differences:
        for note in one.notes:
            if one.key not in cases.setdefault(note, []):
                cases[note].append(one.key)
    count = len({one.key for one in differences})
    whole = [note for note, keys in cases.items() if len(keys) == count]
    lines = [f"differs: {'; '.join(whole)}"] if whole else []
    for key in dict.fromkeys(one.key for one in differences):
        own = [note for note, keys in cases.items() if key in keys and note not in whole]
        lines += [f"{key} differs: {'; '.join(own)}"] if own else []
    return lines


def _few(differences: Sequence[Difference]) -> list[str]:
    counts = [min(one.first.n, one.second.n) for one in differences]
    least = min(counts, default=4)
    return [f"some have fewer than 4 {FEW}"] if least < 4 else []


def _values(differences: Sequence[Difference]) -> Table:
    columns = ("case", "metric", "unit", "baseline", "candidate", "ratio", "low", "high", "verdict")
    return Table(
        columns=columns,
        rows=tuple(
            (
                *(one.key, one.metric, one.first.unit),
                *map(repr, (one.first.value, one.second.value, one.ratio, one.low, one.high)),
                one.verdict,
            )
            for one in differences
        ),
    )

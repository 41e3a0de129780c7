"""A check → text, Markdown for a pull request, JUnit XML for a CI, JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

import msgspec

from assay.commands.check.report import CheckedSeries, CheckReport
from assay.core.findings import Output, Table
from assay.core.units import human, percent_change

_ORDER = ("regression", "suspect", "improvement", "not-comparable", "fine")
_UNPRINTABLE = {code: None for code in range(32) if code not in (9, 10, 13)}


def output(report: CheckReport, everything: bool = False) -> Output:
    return Output(
        tables=(check_table(report, everything),),
        document=msgspec.to_builtins(report),
        values=_values(report),
    )


def check_table(report: CheckReport, everything: bool = False) -> Table:
    """What is worth reading first; fine ones only where all are asked for, or nothing else is."""
    shown = sorted(report.found, key=lambda series: (_ORDER.index(series.judgement), series.key))
    worth = [
        series
        for series in shown
        if everything or series.judgement not in {"fine", "not-comparable"}
    ]
    return Table(
        title=headline(report),
        columns=("case", "metric", "change", "95 % interval", "from", "to", "p", "finding"),
        rows=tuple(_row(series) for series in worth),
        numeric=frozenset({"change", "95 % interval", "from", "to", "p"}),
        spare=("p", "from", "to"),
        shortened=frozenset({"case"}),
        notes=tuple(_notes(report, [] if everything else shown)),
    )


def headline(report: CheckReport) -> str:
    worse = [series for series in report.found if _is_failed(series)]
    undecided = [series for series in report.found if series.outcome == "undecided"]
    total = f"{len(report.found)} series against {report.since}"
    if worse:
        sure = "confirmed" if report.confirmed else "found"
        return f"{_count(len(worse), 'regression')} {sure} in {total}"
    if undecided:
        return f"undecided: {_count(len(undecided), 'suspicion')} in {total}"
    suspects = sum(each.judgement == "suspect" and not each.outcome for each in report.found)
    if suspects:
        return f"{_count(suspects, 'suspect')} in {total}"
    if report.machines:
        return f"undecided: {report.machines[0]}"
    if all(series.judgement == "not-comparable" for series in report.found):
        kind = "undecided" if report.named else "nothing to tell yet"
        return f"{kind}: nothing can be compared in {total}"
    settled = [
        f"{_count(count, 'change')} {outcome}"
        for outcome in ("accepted", "refuted")
        if (count := sum(series.outcome == outcome for series in report.found))
    ]
    return f"{', '.join(settled) or 'fine'}: no regression in {total}"


def alert_text(report: CheckReport) -> str:
    """For a chat or a mail: the headline, and a line for each of the worst."""
    bad = [series for series in report.found if _is_failed(series) or series.outcome == "undecided"]
    lines = [
        f"{series.key} {series.metric} {percent_change(series.size)} "
        f"({series.confirmation or series.text})"
        for series in bad[:20]
    ]
    return "\n".join([f"assay check: {headline(report)}", *lines])


def junit(report: CheckReport) -> str:
    """One test case a series; a regression is a failure, what is undecided an error."""
    cases = [_test_case(series) for series in report.found]
    counts = {
        "tests": len(cases),
        "failures": sum(_is_failed(series) for series in report.found),
        "errors": sum(series.outcome == "undecided" for series in report.found),
        "skipped": sum(series.judgement == "not-comparable" for series in report.found),
    }
    attributes = " ".join(f'{name}="{count}"' for name, count in counts.items())
    body = "\n".join(cases)
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f'{head}\n<testsuite name="assay check" {attributes}>\n{body}\n</testsuite>'


def _test_case(series: CheckedSeries) -> str:
    name, group = (_quote(f"{series.key} {series.metric}"), _quote(series.machine or "assay"))
    inner = ""
    said = _quote(f"{percent_change(series.size)}: {series.confirmation or series.text}")
    if _is_failed(series):
        inner = f"<failure message={said}>{_escape(series.confirmation or series.text)}</failure>"
    elif series.outcome == "undecided":
        inner = f"<error message={said}/>"
    elif series.judgement == "not-comparable":
        inner = f"<skipped message={_quote(series.text)}/>"
    return f"  <testcase name={name} classname={group}>{inner}</testcase>"


def _is_failed(series: CheckedSeries) -> bool:
    return series.outcome == "confirmed" or (
        series.judgement == "regression" and not series.outcome
    )


def _row(series: CheckedSeries) -> tuple[str, ...]:
    known = math.isfinite(series.size)
    what = f"{series.judgement}, {series.outcome}" if series.outcome else series.judgement
    return (
        *(series.key, series.metric, percent_change(series.size) if known else ""),
        f"{percent_change(series.low)} – {percent_change(series.high)}" if known else "",
        human(series.baseline, series.unit) if known else "",
        human(series.candidate, series.unit) if known else "",
        f"{series.p:.1g}" if known else "",
        f"{what}: {series.confirmation or series.text}",
    )


def _notes(report: CheckReport, shown: Sequence[CheckedSeries]) -> list[str]:
    notes = []
    suspects = [series for series in shown if series.judgement == "suspect" and not series.outcome]
    if suspects:
        notes.append(
            f"{_count(len(suspects), 'series', 'series')} worth measuring again: --confirm does"
        )
    incomparable = [series for series in shown if series.judgement == "not-comparable"]
    notes += [
        f"not comparable: {series.key} {series.metric}: {series.text}"
        for series in incomparable[:5]
    ]
    if len(incomparable) > 5:
        notes.append(f"{len(incomparable) - 5} more are not comparable: --all lists them")
    percent = f"{100 * report.level:g} %"
    notes.append(f"of the regressions named at most {percent} are false, over all series together")
    return [*notes, *report.machines, *report.alerts, *report.notes]


def _values(report: CheckReport) -> Table:
    names = ("key", "metric", "judgement", "outcome", "size", "low", "high", "p", "baseline")
    return Table(
        columns=(*names, "candidate"),
        rows=tuple(
            tuple(str(getattr(series, name)) for name in (*names, "candidate"))
            for series in report.found
        ),
    )


def _count(count: int, word: str, several: str = "") -> str:
    return f"{count} {word if count == 1 else several or word + 's'}"


def _escape(text: str) -> str:
    return escape(text.translate(_UNPRINTABLE))


def _quote(text: str) -> str:
    return quoteattr(text.translate(_UNPRINTABLE))

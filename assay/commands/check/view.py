"""A check → text, Markdown for a pull request, JUnit XML for a CI, JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

import msgspec

from assay.commands.check.api import CheckedSeries, CheckReport
from assay.core.findings import Output, Table
from assay.core.units import human, percent_change

_ORDER = ("regression", "suspect", "improvement", "not-comparable", "fine")
_UNPRINTABLE = {code: None for code in range(32) if code not in (9, 10, 13)}


def output(found: CheckReport, everything: bool = False) -> Output:
    return Output(
        tables=(check_table(found, everything),),
        document=msgspec.to_builtins(found),
        values=_values(found),
    )


def check_table(found: CheckReport, everything: bool = False) -> Table:
    """What is worth reading first; fine ones only where all are asked for, or nothing else is."""
    shown = sorted(found.found, key=lambda one: (_ORDER.index(one.judgement), one.key))
    worth = [one for one in shown if everything or one.judgement not in {"fine", "not-comparable"}]
    return Table(
        title=headline(found),
        columns=("case", "metric", "change", "95 % interval", "from", "to", "p", "finding"),
        rows=tuple(_row(one) for one in worth),
        numeric=frozenset({"change", "95 % interval", "from", "to", "p"}),
        shortened=frozenset({"case"}),
        notes=tuple(_notes(found, shown)),
    )


def headline(found: CheckReport) -> str:
    worse = [one for one in found.found if _is_failed(one)]
    undecided = [one for one in found.found if one.outcome == "undecided"]
    total = f"{len(found.found)} series against {found.since}"
    if worse:
        sure = "confirmed" if found.confirmed else "found"
        return f"{_count(len(worse), 'regression')} {sure} in {total}"
    if undecided:
        return f"undecided: {_count(len(undecided), 'suspicion')} in {total}"
    suspects = sum(each.judgement == "suspect" and not each.outcome for each in found.found)
    if suspects:
        return f"{_count(suspects, 'suspect')} in {total}"
    if all(one.judgement == "not-comparable" for one in found.found):
        kind = "undecided" if found.named else "nothing to tell yet"
        return f"{kind}: nothing can be compared in {total}"
    return f"fine: no regression in {total}"


def alert_text(found: CheckReport) -> str:
    """For a chat or a mail: the headline, and a line for each of the worst."""
    bad = [one for one in found.found if _is_failed(one) or one.outcome == "undecided"]
    lines = [
        f"{one.key} {one.metric} {percent_change(one.size)} ({one.confirmation or one.text})"
        for one in bad[:20]
    ]
    return "\n".join([f"assay check: {headline(found)}", *lines])


def junit(found: CheckReport) -> str:
    """One test case a series; a regression is a failure, what is undecided an error."""
    cases = [_test_case(one) for one in found.found]
    counts = {
        "tests": len(cases),
        "failures": sum(_is_failed(one) for one in found.found),
        "errors": sum(one.outcome == "undecided" for one in found.found),
        "skipped": sum(one.judgement == "not-comparable" for one in found.found),
    }
    attributes = " ".join(f'{name}="{count}"' for name, count in counts.items())
    body = "\n".join(cases)
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f'{head}\n<testsuite name="assay check" {attributes}>\n{body}\n</testsuite>'


def _test_case(one: CheckedSeries) -> str:
    name, group = (_quote(f"{one.key} {one.metric}"), _quote(one.machine or "assay"))
    inner = ""
    said = _quote(f"{percent_change(one.size)}: {one.confirmation or one.text}")
    if _is_failed(one):
        inner = f"<failure message={said}>{_escape(one.confirmation or one.text)}</failure>"
    elif one.outcome == "undecided":
        inner = f"<error message={said}/>"
    elif one.judgement == "not-comparable":
        inner = f"<skipped message={_quote(one.text)}/>"
    return f"  <testcase name={name} classname={group}>{inner}</testcase>"


def _is_failed(one: CheckedSeries) -> bool:
    return one.outcome == "confirmed" or (one.judgement == "regression" and not one.outcome)


def _row(one: CheckedSeries) -> tuple[str, ...]:
    known = math.isfinite(one.size)
    what = f"{one.judgement}, {one.outcome}" if one.outcome else one.judgement
    return (
        *(one.key, one.metric, percent_change(one.size) if known else ""),
        f"{percent_change(one.low)} – {percent_change(one.high)}" if known else "",
        human(one.baseline, one.unit) if known else "",
        human(one.candidate, one.unit) if known else "",
        f"{one.p:.1g}" if known else "",
        f"{what}: {one.confirmation or one.text}",
    )


def _notes(found: CheckReport, shown: Sequence[CheckedSeries]) -> list[str]:
    notes = []
    suspects = [one for one in shown if one.judgement == "suspect" and not one.outcome]
    if suspects:
        notes.append(
            f"{_count(len(suspects), 'series', 'series')} worth measuring again: --confirm does"
        )
    apart = [one for one in shown if one.judgement == "not-comparable"]
    notes += [f"not comparable: {one.key} {one.metric}: {one.text}" for one in apart[:5]]
    if len(apart) > 5:
        notes.append(f"{len(apart) - 5} more are not comparable: --all lists them")
    percent = f"{100 * found.level:g} %"
    notes.append(f"of the regressions named at most {percent} are false, over all series together")
    return [*notes, *found.alerts, *found.notes]


def _values(found: CheckReport) -> Table:
    names = ("key", "metric", "judgement", "outcome", "size", "low", "high", "p", "baseline")
    return Table(
        columns=(*names, "candidate"),
        rows=tuple(
            tuple(str(getattr(one, name)) for name in (*names, "candidate")) for one in found.found
        ),
    )


def _count(count: int, word: str, several: str = "") -> str:
    return f"{count} {word if count == 1 else several or word + 's'}"


def _escape(text: str) -> str:
    return escape(text.translate(_UNPRINTABLE))


def _quote(text: str) -> str:
    return quoteattr(text.translate(_UNPRINTABLE))

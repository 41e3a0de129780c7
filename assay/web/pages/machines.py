"""What happened on each machine, at a glance: what ran last, what changed, what is open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from assay.commands.check.report import CheckedSeries, CheckReport
from assay.commands.list.api import RunLine
from assay.core.units import percent_change
from assay.web.page import Cell, Grid, Section, mood_of
from assay.web.pages.findings import Finding

NIGHT = timedelta(hours=18)  # before the newest run of a machine: its last night
MAX_ITEMS = 4  # of each kind
MAX_OPEN = 3  # machines whose section is open
OPEN = {"regression", "suspect"}  # judgements that someone has to look at

Row = tuple[Cell, ...]


def machine_sections(
    lines: Sequence[RunLine], findings: Sequence[Finding], report: CheckReport | None
) -> list[Section]:
    """A section for each machine, that which measured last first."""
    machines = dict.fromkeys(line.machine for line in reversed(lines))
    return [
        Section(
            title=f"On {machine or 'an unknown machine'}",
            grid=Grid(
                columns=("what", "which", "result", "when"),
                rows=(
                    *_ran([line for line in lines if line.machine == machine]),
                    *_changed([each for each in findings if each.machine == machine]),
                    *_open(lines, report, machine),
                ),
                minor=frozenset({"when"}),
            ),
            closed=number >= MAX_OPEN,
        )
        for number, machine in enumerate(machines)
    ]


def _ran(lines: Sequence[RunLine]) -> Iterator[Row]:
    """Runs of the last night, the newest first."""
    end = datetime.fromisoformat(lines[-1].started)
    night = [line for line in lines if datetime.fromisoformat(line.started) >= end - NIGHT]
    for line in night[: -MAX_ITEMS - 1 : -1]:
        failed = f", {line.failed} failed" if line.failed and "failed" not in line.headline else ""
        text = f"{line.short_headline or f'{line.results} results'}{failed}"
        yield (
            Cell(text="ran last"),
            Cell(text=f"{line.verb} {line.request}", to=f"/runs/{line.run}"),
            Cell(text=text, style="bad" if line.failed else mood_of(text)),
            _when(line.started),
        )
    if len(night) > MAX_ITEMS:
        yield (
            Cell(text="ran last"),
            Cell(text=f"{len(night) - MAX_ITEMS} more runs", to="/runs"),
            Cell(),
            _when(night[0].started),
        )


def _changed(findings: Sequence[Finding]) -> Iterator[Row]:
    for finding in findings[:MAX_ITEMS]:
        yield (
            Cell(text="changed"),
            Cell(text=finding.case, to=f"/history/{finding.series}/{finding.metric}"),
            Cell(
                text=f"{finding.metric} {percent_change(finding.change, 1)}",
                style="bad" if finding.worse else "good",
            ),
            _when(finding.since),
        )
    if not findings:
        yield (Cell(text="changed"), Cell(text="nothing", to="/history"), Cell(), Cell())


def _open(lines: Sequence[RunLine], report: CheckReport | None, machine: str) -> Iterator[Row]:
    """Regressions and suspects of the gate, and comparisons that were not decided."""
    series = [each for each in report.found if each.machine == machine] if report else []
    suspects = [each for each in series if each.judgement in OPEN]
    undecided = [
        line for line in lines if line.machine == machine and mood_of(line.headline) == "doubt"
    ]
    for each in suspects[:MAX_ITEMS]:
        yield _suspect(each)
    for line in undecided[: -MAX_ITEMS - 1 : -1]:
        yield (
            Cell(text="open"),
            Cell(text=f"{line.verb} {line.request}", to=f"/runs/{line.run}"),
            Cell(text=line.short_headline, style="doubt"),
            _when(line.started),
        )
    if not (suspects or undecided):
        yield (Cell(text="open"), Cell(text="nothing", to="/check"), Cell(), Cell())


def _suspect(series: CheckedSeries) -> Row:
    text = f"{series.judgement}: {series.metric} {percent_change(series.size)}"
    return (
        Cell(text="open"),
        Cell(text=series.key, to=f"/history/{series.series}/{series.metric}"),
        Cell(text=text, style=mood_of(text)),
        Cell(),
    )


def _when(started: str) -> Cell:
    return Cell(text=started[:16].replace("T", " "))

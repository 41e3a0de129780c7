"""Notes below a table of results, by severity."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.core.findings import SEVERITY, Doubt, SummarizedResult

MIN_LINES = 3  # minimum number of lines of notes


# Doubts that a quick run always has
_QUICK = {"few-samples", "target-missed", "one-process", "few-for-percentiles"}


def is_quick(readings: Sequence[SummarizedResult]) -> bool:
    """Whether one is of a quick run, whose samples support no winner."""
    return any("quick" in reading.result.tags for reading in readings)


def notes(readings: Sequence[SummarizedResult], names: Sequence[str]) -> list[str]:
    """Endings of cases, then doubts; about as many lines as rows."""
    if is_quick(readings):
        key = readings[0].result.case.key
        rough = f"the interval is rough: 1.5 s of one process; better: assay run '{key}'"
        return [rough, *_notes([_without_quick(r) for r in readings], names)]
    return _notes(readings, names)


def _without_quick(reading: SummarizedResult) -> SummarizedResult:
    doubts = tuple(doubt for doubt in reading.summary.doubts if doubt.code not in _QUICK)
    summary = msgspec.structs.replace(reading.summary, doubts=doubts)
    return msgspec.structs.replace(reading, summary=summary)


def _notes(readings: Sequence[SummarizedResult], names: Sequence[str]) -> list[str]:
    endings = [
        f"{name}: {r.result.status}: {r.result.reason}"
        for name, r in zip(names, readings, strict=True)
        if r.result.reason
    ]
    doubted = _doubt_lines(readings, names)
    room = max(MIN_LINES, len(readings)) - len(endings)
    if len(doubted) <= room:
        return endings + doubted
    example = next((r.result.id for r in readings if r.summary.doubts), readings[0].result.id)
    hidden = len(doubted) - max(room - 1, 0)
    return [*endings, *doubted[: max(room - 1, 0)], f"{hidden} more: assay show {example}"]


def by_severity(doubts: Sequence[Doubt]) -> list[Doubt]:
    return sorted(doubts, key=_rank)


def _doubt_lines(readings: Sequence[SummarizedResult], names: Sequence[str]) -> list[str]:
    measured = [(name, r) for name, r in zip(names, readings, strict=True) if r.summary.doubts]
    timed = sum("step_time" in r.measured_only for r in readings)
    by_code: dict[str, list[tuple[str, Doubt]]] = {}
    for name, reading in measured:
        for doubt in reading.summary.doubts:
            by_code.setdefault(doubt.code, []).append((name, doubt))
    ordered = sorted(by_code.values(), key=lambda entries: _rank(entries[0][1]))
    return [_line(entries, timed) for entries in ordered]


def _line(entries: Sequence[tuple[str, Doubt]], timed: int) -> str:
    """One doubt of one row, of several, or of all."""
    name, doubt = entries[0]
    end = f"{doubt.text}. {doubt.remedy}".strip()
    if len(entries) == 1:
        return end if timed == 1 else f"{name}: {end}"
    if all(other.text == doubt.text for _, other in entries):
        who = "all" if len(entries) == timed else ", ".join(other_name for other_name, _ in entries)
        return f"{who}: {end}"
    others = "all" if len(entries) == timed else f"{len(entries)} of {timed}"
    return f"{others}, for example {name}: {end}"


def _rank(doubt: Doubt) -> int:
    return SEVERITY.index(doubt.code) if doubt.code in SEVERITY else len(SEVERITY) - 2

"""The notes under a table of readings: what would change the reader's mind comes first."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.findings import Doubt, Reading

FEWEST = 3  # lines of notes that even the smallest table may have

# Codes of doubts, the gravest first: wrong work, then a machine that was not the case's own, then
# samples that cannot carry the number, then what merely widens it. Others come after these.
GRAVITY = (
    *("not-waited-for", "counts-disagree", "above-peak", "no-samples", "unusable"),
    *("other-load", "steal", "throttled", "quota", "swap", "shared-cores"),
    *("drift", "no-steady-state", "two-modes", "few-samples", "spread"),
    *("few-for-percentiles", "target-missed", "governor", "monitor-cost", "one-process"),
)


def notes(readings: Sequence[Reading], names: Sequence[str]) -> list[str]:
    """How cases ended; then doubts, one line for what all rows share; no more lines than rows."""
    ended = [
        f"{name}: {r.result.status}: {r.result.reason}"
        for name, r in zip(names, readings, strict=True)
        if r.result.reason
    ]
    doubted = _doubted(readings, names)
    room = max(FEWEST, len(readings)) - len(ended)
    if len(doubted) <= room:
        return ended + doubted
    run = readings[0].result.run
    hidden = len(doubted) - max(room - 1, 0)
    return [*ended, *doubted[: max(room - 1, 0)], f"{hidden} more: assay show {run}/NNN"]


def gravest_first(doubts: Sequence[Doubt]) -> list[Doubt]:
    return sorted(doubts, key=_rank)


def _doubted(readings: Sequence[Reading], names: Sequence[str]) -> list[str]:
    measured = [(name, r) for name, r in zip(names, readings, strict=True) if r.summary.doubts]
    timed = sum("step_time" in r.own for r in readings)
    found: dict[str, list[tuple[str, Doubt]]] = {}
    for name, reading in measured:
        for doubt in reading.summary.doubts:
            found.setdefault(doubt.code, []).append((name, doubt))
    ordered = sorted(found.values(), key=lambda same: _rank(same[0][1]))
    return [_line(same, timed) for same in ordered]


def _line(same: Sequence[tuple[str, Doubt]], timed: int) -> str:
    """One doubt of one row, of some, or of all."""
    name, doubt = same[0]
    end = f"{doubt.text}. {doubt.remedy}".strip()
    if len(same) == 1:
        return end if timed == 1 else f"{name}: {end}"
    if all(other.text == doubt.text for _, other in same):
        who = "all" if len(same) == timed else ", ".join(each for each, _ in same)
        return f"{who}: {end}"
    others = "all" if len(same) == timed else f"{len(same)} of {timed}"
    return f"{others}, for example {name}: {end}"


def _rank(doubt: Doubt) -> int:
    return GRAVITY.index(doubt.code) if doubt.code in GRAVITY else len(GRAVITY) - 2

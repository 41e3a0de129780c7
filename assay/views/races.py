"""A race → its ranking as a table, and a line for each heat."""

from __future__ import annotations

import math

from assay.findings import Place, Race, Table


def ranking_table(found: Race) -> Table:
    return Table(
        columns=("", "contender", "time of an item", "95 % interval", "heats", "state"),
        rows=tuple(_row(number, place) for number, place in enumerate(found.places, 1)),
        numeric=frozenset({"", "time of an item", "95 % interval", "heats"}),
        title=_title(found),
        notes=tuple(_notes(found)),
    )


def heat_line(found: Race) -> str:
    """Who is in, for the eye that follows."""
    counts = {state: sum(p.state == state for p in found.places) for state in _STATES}
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    first = found.places[0]
    return f"heat {found.heats}: {told}; ahead: {first.key if first.state == 'in' else 'nobody'}"


_STATES = ("in", "out", "failed", "wrong", "untried")


def _title(found: Race) -> str:
    first = found.places[0]
    return f"fastest: {first.key}" if first.state == "in" else "nobody is ahead"


def _row(number: int, place: Place) -> tuple[str, ...]:
    ratio = place.ratio
    timed = math.isfinite(ratio.value)
    interval = f"{ratio.low:.3f} – {ratio.high:.3f}" if ratio.n else ""
    return (
        str(number) if timed else "",
        place.key,
        f"x {ratio.value:.3f}" if timed else "",
        interval,
        str(place.heats),
        place.state,
    )


def _notes(found: Race) -> list[str]:
    notes = [f"{p.key}: {p.reason}" for p in found.places if p.state in {"failed", "wrong"}]
    notes += [found.ended] if found.ended else []
    return notes + ([f"to run it: {found.command}"] if found.command else [])

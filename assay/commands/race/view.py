"""A race → its ranking as a table, and a line for each heat."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from assay.commands.race.ranking import Place, Race
from assay.core.findings import Output, Table
from assay.core.units import human


def output(found: Race, option_effects: Table) -> Output:
    """The ranking; and what each setting gains, where contenders differ in one alone."""
    ranking = ranking_table(found)
    tables = (ranking, option_effects) if option_effects.rows else (ranking,)
    return Output(tables=tables, document=msgspec.to_builtins(found), values=ranking)


def ranking_table(found: Race) -> Table:
    numbers = {place.key: number for number, place in enumerate(found.places, 1)}
    time = "time/item" if found.metric == "item_time" else found.metric
    return Table(
        columns=("", "contender", time, "ratio", "95 % interval", "heats", "state"),
        rows=tuple(_row(place, numbers) for place in found.places if place.state != "untried"),
        numeric=frozenset({"", time, "ratio", "95 % interval", "heats"}),
        title=headline(found),
        notes=tuple(_notes(found)),
    )


def heat_line(found: Race) -> str:
    """Who is in, for the eye that follows."""
    counts = {state: sum(p.state == state for p in found.places) for state in _STATES}
    answer = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    first = found.places[0]
    return f"heat {found.heats}: {answer}; ahead: {first.key if first.state == 'in' else 'nobody'}"


_STATES = ("in", "out", "failed", "wrong", "untried")


def headline(found: Race) -> str:
    first = found.places[0]
    if first.state != "in":
        return "nobody is ahead"
    decided = found.ended.startswith("decided")
    return f"{'fastest' if decided else 'ahead so far, undecided'}: {first.key}"


def _row(place: Place, numbers: Mapping[str, int]) -> tuple[str, ...]:
    ratio = place.ratio
    timed = math.isfinite(ratio.value)
    interval = f"{ratio.low:.3f} – {ratio.high:.3f}" if ratio.n else ""
    return (
        str(numbers[place.key]) if timed else "",
        place.key,
        human(place.time, "s") if math.isfinite(place.time) else "",
        f"x {ratio.value:.3f}" if timed else "",
        interval,
        str(place.heats),
        f"out, {_slower_than(place, numbers)}" if place.state == "out" else place.state,
    )


def _slower_than(place: Place, numbers: Mapping[str, int]) -> str:
    """Why it is out, with the number of the faster one in place of its long name."""
    key = place.reason.removeprefix("slower than ")
    return f"slower than {numbers.get(key, key)}"


def _notes(found: Race) -> list[str]:
    notes = [f"{p.key}: {p.reason}" for p in found.places if p.state in {"failed", "wrong"}]
    notes += found.notes
    untried = sum(place.state == "untried" for place in found.places)
    if untried:
        notes.append(
            f"{untried} contender{'s were' if untried > 1 else ' was'} not tried: --resume goes on"
        )
    notes += [found.ended] if found.ended else []
    return notes + ([f"to run it: {found.command}"] if found.command else [])

"""A race → its ranking as a table, and a line for each heat."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from assay.commands.race.ranking import Place, Race
from assay.core.findings import Output, Table
from assay.core.units import human, span

LEVEL_NOTE = (
    "95 %: no interval after any heat excludes the true ratio to the leader, in 95 % of races; "
    "the table of run shows it for each interval alone"
)


def output(race: Race, option_effects: Table) -> Output:
    """The ranking, and the effect of each option where contenders differ in one only."""
    ranking = ranking_table(race)
    tables = (ranking, option_effects) if option_effects.rows else (ranking,)
    return Output(tables=tables, document=msgspec.to_builtins(race), values=ranking)


def ranking_table(race: Race) -> Table:
    numbers = {place.key: number for number, place in enumerate(race.places, 1)}
    time = "time/item" if race.metric == "item_time" else race.metric
    return Table(
        columns=("", "contender", time, "ratio", "95 % interval", "heats", "state"),
        rows=tuple(_row(place, numbers) for place in race.places if place.state != "untried"),
        numeric=frozenset({"", time, "ratio", "95 % interval", "heats"}),
        title=headline(race),
        notes=tuple(_notes(race)),
    )


def heat_line(race: Race) -> str:
    """A progress line."""
    counts = {state: sum(p.state == state for p in race.places) for state in _STATES}
    answer = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    first = race.places[0]
    return f"heat {race.heats}: {answer}; ahead: {first.key if first.state == 'in' else 'none'}"


_STATES = ("in", "out", "failed", "wrong", "untried")


def headline(race: Race) -> str:
    first = race.places[0]
    if first.state != "in":
        return "no contender is ahead"
    decided = race.ended.startswith("decided")
    return f"{'fastest' if decided else 'ahead so far, undecided'}: {first.key}"


def _row(place: Place, numbers: Mapping[str, int]) -> tuple[str, ...]:
    ratio = place.ratio
    timed = math.isfinite(ratio.value)
    interval = span(ratio.low, ratio.high, "{:.3f}".format) if ratio.n else ""
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
    """Why it is out, with the rank of the faster one instead of its key."""
    key = place.reason.removeprefix("slower than ")
    return f"slower than {numbers.get(key, key)}"


def _notes(race: Race) -> list[str]:
    notes = [f"{p.key}: {p.reason}" for p in race.places if p.state in {"failed", "wrong"}]
    notes += race.notes
    untried = sum(place.state == "untried" for place in race.places)
    if untried:
        notes.append(
            f"{untried} contender{'s were' if untried > 1 else ' was'} not tried; see --resume"
        )
    notes += [race.ended] if race.ended else []
    notes += [LEVEL_NOTE] if any(place.ratio.n for place in race.places) else []
    return notes + ([f"to run it: {race.command}"] if race.command else [])

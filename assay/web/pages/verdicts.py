"""The verdict of an ab, a race, a study or a tuning, with its details."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from assay.commands.ab import view
from assay.commands.bench import view as bench
from assay.commands.bench.api import summarize_trials
from assay.commands.bisect import view as bisect
from assay.commands.bisect.api import Bisection
from assay.commands.race import api as races
from assay.commands.race import view as race_view
from assay.commands.race.ranking import Place, Race
from assay.commands.study import api as studies
from assay.commands.study import view as study_view
from assay.commands.tune import view as tune
from assay.core.contracts import Store
from assay.core.findings import SummarizedResult
from assay.native.tuner.records import Tuning
from assay.stats.option_effects import OptionEffect, effects_table, option_effects
from assay.stats.paired_ratio import Comparison
from assay.stores.runs import BISECTION, COMPARISON, RACE, TUNING, read_document, tag_number
from assay.web.charts.kinds import Ratio, ratios_chart
from assay.web.page import Cell, Grid, Mood, Section, heat_cell, mood_of, table_section


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """In one sentence, and the sections below it; nothing of a run that decides nothing."""

    sentence: str = ""
    mood: Mood = ""
    sections: tuple[Section, ...] = ()


def verdict(store: Store, run: str, verb: str, readings: Sequence[SummarizedResult]) -> Verdict:
    """As its own command prints it, with charts."""
    if store.document(run, COMPARISON) is not None:
        compared = read_document(store, run, COMPARISON, Comparison)
        return _verdict(view.headline(compared), _comparison(compared))
    if store.document(run, RACE) is not None:
        raced = read_document(store, run, RACE, Race)
        return _verdict(race_view.headline(raced), *_race(raced, readings))
    if store.document(run, BISECTION) is not None:
        bisection = read_document(store, run, BISECTION, Bisection)
        return _bisection(bisection)
    if store.document(run, TUNING) is not None:
        tuned = read_document(store, run, TUNING, Tuning)
        return _verdict(tune.headline(tuned), _front(tuned))
    if verb == "bench" and readings:
        return Verdict(sections=(_trials(readings),))
    return Verdict(sections=_study(store, run)) if verb == "study" and readings else Verdict()


def _verdict(sentence: str, *sections: Section) -> Verdict:
    return Verdict(sentence=sentence, mood=mood_of(sentence), sections=sections)


def _bisection(bisection: Bisection) -> Verdict:
    decided = bisection.ended.startswith(("decided", "the ends are the same"))
    (table,) = bisect.output(bisection).tables
    return Verdict(
        sentence=bisect.headline(bisection),
        mood="" if decided else "doubt",
        sections=(table_section(table, "Steps"),),
    )


def _trials(readings: Sequence[SummarizedResult]) -> Section:
    trials = summarize_trials(reading.result for reading in readings)
    return table_section(bench.metrics_table(trials), "Each metric over its trials")


def _comparison(comparison: Comparison) -> Section:
    rows = [Ratio(name=f"pair {n}", value=p.ratio) for n, p in enumerate(comparison.pairs, 1)]
    whole = comparison.ratio
    rows.append(Ratio(name="all pairs", value=whole.value, low=whole.low, high=whole.high))
    table = table_section(view.comparison_table(comparison), "Verdict")
    title = f"{comparison.metric}: candidate over baseline; the band is what counts as no change"
    return msgspec.structs.replace(table, chart=ratios_chart(title, rows, comparison.minimum))


def _front(tuning: Tuning) -> Section:
    rows = [
        Ratio(
            name=f"{point.name}, {point.accuracy:.2f} %",
            value=point.speedup,
            low=point.speedup_low,
            high=point.speedup_high,
        )
        for point in tuning.points
    ]
    table = table_section(tune.front_table(tuning), "Front")
    chart = ratios_chart("times as fast as the exact network", rows)
    return msgspec.structs.replace(table, chart=chart)


def _race(race: Race, readings: Sequence[SummarizedResult]) -> tuple[Section, ...]:
    rows = [
        Ratio(name=place.key, value=place.ratio.value, low=place.ratio.low, high=place.ratio.high)
        for place in race.places
    ]
    ranking = table_section(race_view.ranking_table(race), "Ranking")
    chart = ratios_chart("time of an item over the leader's", rows, race.minimum)
    return (
        msgspec.structs.replace(ranking, chart=chart),
        *_heats(race, readings),
        *_effects(races.race_option_effects(race)),
    )


def _heats(race: Race, readings: Sequence[SummarizedResult]) -> list[Section]:
    """One column per heat: the time of an item over that of the fastest; then who was dropped."""
    times: dict[int, dict[str, float]] = {}
    for reading in readings:
        step = reading.measured_only.get("step_time")
        if step and "heat" in reading.result.tags:
            heat = times.setdefault(tag_number(reading.result, "heat"), {})
            heat[reading.result.case.key] = step.value / max(1, reading.result.items)
    if not times:
        return []
    rows = tuple(
        (Cell(text=place.key), *_run_heats(place, times), Cell(text=_outcome(place, times)))
        for place in race.places
    )
    names = [f"heat {number}" for number in sorted(times)]
    grid = Grid(columns=("contender", *names, "then"), rows=rows, numeric=frozenset(names))
    text = "Time of an item in each heat over the fastest of that heat, until a contender is out."
    return [Section(title="Who was dropped when", text=text, grid=grid)]


def _run_heats(place: Place, times: Mapping[int, Mapping[str, float]]) -> list[Cell]:
    cells = []
    for number in sorted(times):
        own = times[number].get(place.key)
        cells.append(heat_cell(own / min(times[number].values()) if own else None))
    return cells


def _outcome(place: Place, times: Mapping[int, Mapping[str, float]]) -> str:
    last = max((number for number, heat in times.items() if place.key in heat), default=0)
    if place.state == "out":
        return f"dropped after heat {last}: {place.reason}"
    if place.state in {"failed", "wrong"}:
        return f"{place.state}: {place.reason}"
    return "not tried" if place.state == "untried" else "still in"


def _study(store: Store, run: str) -> tuple[Section, ...]:
    request, readings = studies.read_study(store, run)
    findings = studies.findings(readings)
    tables = study_view.study_tables(
        request.study, readings, findings.floor, findings.mismatches, request.name
    )
    return (*(table_section(table) for table in tables), *_effects(option_effects(readings)))


def _effects(effects: Sequence[OptionEffect]) -> list[Section]:
    if not effects:
        return []
    rows = [
        Ratio(
            name=f"{effect.setting}: {effect.before} → {effect.after}",
            value=effect.ratio,
            low=min(effect.ratios) if len(effect.ratios) > 1 else math.nan,
            high=max(effect.ratios) if len(effect.ratios) > 1 else math.nan,
        )
        for effect in effects
    ]
    table = table_section(effects_table(effects), "What each option buys, all else equal")
    title = "time after over time before; the line spans all pairs; left of 1 is quicker"
    return [msgspec.structs.replace(table, chart=ratios_chart(title, rows))]

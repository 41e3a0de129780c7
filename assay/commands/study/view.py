"""A study's readings → its tables: one for each variant, rows by framework, columns by option."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from assay.commands.study.api import StudySummary
from assay.core.contracts import Study, Variant
from assay.core.findings import Mismatch, Output, Quantity, SummarizedResult, Table
from assay.core.records import Value
from assay.core.units import human
from assay.reporting import results, timings
from assay.reporting.timings import fairness_notes
from assay.stats.roofline import Floor

FINDING_WORDS = ("cpu", "gpu0", "cpus_allowed")  # of the machine, in the note that names it
FRAMEWORKS = ("torch", "jax", "tensorflow", "tensorflow_cpu", "keras")


def output(
    name: str, study: Study | None, readings: Sequence[SummarizedResult], summary: StudySummary
) -> Output:
    tables = study_tables(study, readings, summary.floor, summary.mismatches, name)
    document = results.results_document(readings, summary.mismatches) | study_document(
        name, summary
    )
    return Output(
        tables=(*tables, *((summary.option_effects,) if summary.option_effects else ())),
        document=document,
        values=results.results_values(readings),
    )


def study_tables(
    study: Study | None,
    readings: Sequence[SummarizedResult],
    floor: Floor | None = None,
    unlike: Sequence[Mismatch] = (),
    name: str = "",
) -> list[Table]:
    """A table for each variant that was asked for; what is true of all stands under the last. Of
    chosen axes, a row for each case."""
    if study is None:
        return [timings.results_table(readings, name, unlike)]
    parts: dict[str, list[SummarizedResult]] = defaultdict(list)
    for reading in readings:
        parts[variant_of(study, reading).title].append(reading)
    tables = [_table(study, title, some, floor) for title, some in parts.items()]
    notes = (
        *_endings(readings),
        *_floor_notes(floor),
        *(fairness_notes(unlike) or ("no difference between contenders was found",)),
        *_machine(readings),
    )
    return [table if table is not tables[-1] else _note_marks(table, notes) for table in tables]


def study_document(name: str, summary: StudySummary) -> dict[str, Any]:
    """What a study's JSON has beside its results."""
    effects = summary.option_effects or Table(columns=(), rows=())
    return {
        "kind": "study",
        "study": name,
        "floor": msgspec.to_builtins(summary.floor),
        "bought": [dict(zip(effects.columns, row, strict=True)) for row in effects.rows],
    }


def variant_of(study: Study, reading: SummarizedResult) -> Variant:
    """The one with the most parameters that are the case's own."""
    params = reading.result.case.params
    fitting = [v for v in study.variants if all(params.get(k) == v.params[k] for k in v.params)]
    return max(fitting, key=lambda variant: len(variant.params))


def _table(
    study: Study, title: str, readings: Sequence[SummarizedResult], floor: Floor | None
) -> Table:
    rows: dict[tuple[str, str], dict[Value, SummarizedResult]] = defaultdict(dict)
    for reading in readings:
        case = reading.result.case
        row = (case.backend, str(case.options[study.rows[0]]))
        rows[row][case.options[study.columns[0]]] = reading
    name, values = study.columns
    columns = tuple(f"{name} {value}" for value in values)
    gain = f"{values[-1]} / {values[0]}"
    return Table(
        columns=("framework", study.rows[0], *columns, gain, "best / floor"),
        rows=tuple(
            (
                *row,
                *(_cell(cells.get(value)) for value in values),
                _ratio(cells.get(values[-1]), cells.get(values[0])),
                _is_above(list(cells.values()), floor),
            )
            for row, cells in rows.items()
        ),
        numeric=frozenset({*columns, gain, "best / floor"}),
        title=f"{study.workload}, {title}: time of a step, with its 95 % interval",
    )


def _cell(reading: SummarizedResult | None) -> str:
    if reading is None:
        return ""
    step = _step(reading)
    if step is None:
        return "not measured" if reading.result.status == "skipped" else reading.result.status
    if not math.isfinite(step.low):
        return human(step.value, "s")
    return f"{human(step.value, 's')} [{human(step.low, 's')}, {human(step.high, 's')}]"


def _ratio(reading: SummarizedResult | None, other: SummarizedResult | None) -> str:
    above, below = reading and _step(reading), other and _step(other)
    return f"{above.value / below.value:.2f}" if above and below else ""


def _is_above(readings: Sequence[SummarizedResult], floor: Floor | None) -> str:
    steps = [step.value for reading in readings if (step := _step(reading))]
    return f"{min(steps) / floor.seconds:.1f}" if steps and floor and floor.seconds else ""


def _step(reading: SummarizedResult) -> Quantity | None:
    return reading.summary.quantities.get("step_time")


def _endings(readings: Sequence[SummarizedResult]) -> Iterator[str]:
    """Every reason once, with those that it ended."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for reading in readings:
        result = reading.result
        if result.status == "ok":
            continue
        skipped = result.status == "skipped"
        words = "not measured" if skipped else result.status
        name = result.case.backend if skipped else result.case.key
        reasons[f"{words}: {result.reason}"].append(name)
    for reason, names in reasons.items():
        yield f"{', '.join(dict.fromkeys(names))}: {reason}"


def _floor_notes(floor: Floor | None) -> Iterator[str]:
    if not floor:
        return
    work = (
        f"floor by arithmetic: {human(floor.multiply_adds, '')} multiply-adds × {floor.items} items"
        f" × {floor.passes} passes × 2 = {human(floor.flops, 'FLOP')} a step"
    )
    if not floor.peak or not floor.seconds:
        yield f"{work}; the peak of this machine was not measured: run assay doctor first"
        return
    peak, least = human(floor.peak, "FLOP/s"), human(floor.seconds, "s")
    yield f"{work}, {least} at the measured peak of {peak}"
    yield (
        "the floor counts direct convolutions; Winograd's need 2.25 times fewer products in "
        "float32, and may be below it"
    )


def _machine(readings: Sequence[SummarizedResult]) -> Iterator[str]:
    opened = [r.result for r in readings if r.result.facts]
    if not opened:
        return
    packages: dict[str, str] = {}
    for result in opened:
        packages |= {k: v for k, v in result.environment.packages.items() if k in FRAMEWORKS}
    machine = opened[0].environment.machine
    parts = [f"{name} {machine[name]}" for name in FINDING_WORDS if machine.get(name)]
    parts += [f"{name} {version}" for name, version in sorted(packages.items())]
    yield f"measured {opened[0].started[:10]} on {', '.join(parts)}; a case of it: {_key(readings)}"


def _key(readings: Sequence[SummarizedResult]) -> str:
    """Of the first, which has the size and the options that all share."""
    return readings[0].result.case.key


def _note_marks(table: Table, notes: Sequence[str]) -> Table:
    return msgspec.structs.replace(table, notes=tuple(notes))

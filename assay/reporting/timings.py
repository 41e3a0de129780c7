"""Table of results in human units: one row per case, chosen or default columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from assay.core import registry
from assay.core.case_text import ab_command
from assay.core.errors import UsageError
from assay.core.findings import Mismatch, Quantity, Ranking, SummarizedResult, Table
from assay.core.records import Case, Value
from assay.core.units import human, span
from assay.reporting.warnings import is_quick, notes

OPTIONS = "options"  # Mismatch.what of requested differences
WINNER = "fastest:"
MARK = "*"  # of a speed whose options differ from those of the fastest

Cell = Callable[[SummarizedResult], str]


def results_table(
    readings: Sequence[SummarizedResult],
    title: str = "",
    mismatches: Sequence[Mismatch] = (),
    columns: Sequence[str] = (),
    ranking: Ranking | None = None,
) -> Table:
    """One row per result; reasons and doubts are notes with the case's name."""
    check_columns(columns)
    chosen = columns or _usual(readings)
    wrong = _wrong_rows(readings, mismatches)
    speeds = _speeds(readings, wrong, mismatches)
    names = case_names(readings)
    return Table(
        columns=("case", *(_HEADINGS.get(c, c) for c in chosen), "status"),
        rows=tuple(
            (
                name,
                *(speeds[row] if c == "speed" else COLUMNS[c](r) for c in chosen),
                r.result.status,
            )
            for row, (name, r) in enumerate(zip(names, readings, strict=True))
        ),
        numeric=frozenset({*COLUMNS, *_HEADINGS.values()}),
        spare=() if columns else _spare(readings),
        title=title,
        notes=(
            *_difference_notes(mismatches, speeds),
            *_winner(readings, names, ranking),
            *notes(readings, names),
            *_missing_notes(readings, columns),
        ),
    )


def _spare(readings: Sequence[SummarizedResult]) -> tuple[str, ...]:
    """Columns to drop on a narrow terminal; the status only if it says nothing."""
    status = ("status",) if all(r.result.status == "ok" for r in readings) else ()
    return ("memory", "first step", "samples", *status, "items/s", _HEADINGS["speed"])


def _missing_notes(readings: Sequence[SummarizedResult], chosen: Sequence[str]) -> list[str]:
    """Reasons of empty columns that were requested."""
    empty = [c for c in chosen if c in _NEEDS and not any(COLUMNS[c](r) for r in readings)]
    needs = dict.fromkeys(_NEEDS[column] for column in empty)
    return [f"{', '.join(c for c in empty if _NEEDS[c] == need)}: {need}" for need in needs]


def fairness_notes(mismatches: Sequence[Mismatch]) -> tuple[str, ...]:
    return tuple(mismatch.sentence() for mismatch in mismatches)


def _difference_notes(mismatches: Sequence[Mismatch], speeds: Sequence[str]) -> list[str]:
    """Differing options first, with the mark of the speeds that they concern."""
    order = sorted(mismatches, key=lambda mismatch: mismatch.what != OPTIONS)
    mark = f"{MARK} " if any(MARK in speed for speed in speeds) else ""
    return [f"{mark if each.what == OPTIONS else ''}{each.sentence()}" for each in order]


def interval(quantity: Quantity | None) -> str:
    """`3.1 ms – 3.4 ms`, or "" without an interval."""
    if quantity is None:
        return ""
    return span(quantity.low, quantity.high, lambda bound: human(bound, quantity.unit))


def value(quantity: Quantity | None) -> str:
    return human(quantity.value, quantity.unit) if quantity else ""


def case_names(readings: Sequence[SummarizedResult]) -> list[str]:
    """Keys of cases, with parameters that vary within a workload and options within a backend."""
    cases = [reading.result.case for reading in readings]
    params = _varying((case.workload, case.params) for case in cases)
    options = _varying((case.backend, case.options) for case in cases)
    return [_name(case, params, options) for case in cases]


def _varying(settings: Iterable[tuple[str, Mapping[str, Value]]]) -> list[str]:
    """Names with several values within one group."""
    varying: dict[str, dict[str, set[str]]] = {}
    for group, values in settings:
        for name, value in values.items():
            varying.setdefault(name, {}).setdefault(group, set()).add(str(value))
    return [name for name, groups in varying.items() if max(map(len, groups.values())) > 1]


def _name(case: Case, params: Sequence[str], options: Sequence[str]) -> str:
    left, at, right = case.key.rpartition("@")
    if not at:
        return case.key
    return f"{_add_values(left, params, case.params)}@{_add_values(right, options, case.options)}"


def _add_values(text: str, varying: Sequence[str], values: Mapping[str, Value]) -> str:
    """A workload or backend with the varying values that its key omits."""
    pairs = [f"{n}={values[n]}" for n in varying if n in values and f"{n}=" not in text]
    plain_pairs = [pair for pair in pairs if not any(sign in pair for sign in " ,'@")]
    return (
        f"{text}{',' if ':' in text and '=' in text else ':'}{','.join(plain_pairs)}"
        if plain_pairs
        else text
    )


def _usual(readings: Sequence[SummarizedResult]) -> list[str]:
    comparable = len(_rates(readings)) > 1 and not is_quick(readings)
    tails = ["p50", "p90", "p99"] if any(r.result.procedure.latency for r in readings) else []
    speed = ["speed"] if comparable else []
    if any("contender" in r.result.tags for r in readings):
        return ["contender", "pair", "step time", "95 % interval", "first step", "samples"]
    return [
        "step time",
        "95 % interval",
        *speed,
        "items/s",
        *tails,
        "first step",
        "memory",
        "samples",
    ]


def check_columns(columns: Sequence[str]) -> None:
    for column in columns:
        if column not in COLUMNS:
            raise UsageError(
                f"There is no column named '{column}'.", hint=f"Columns: {', '.join(COLUMNS)}."
            )


def _quantity(name: str) -> Cell:
    return lambda reading: value(reading.measured_only.get(name))


def _peak(name: str, unit: str) -> Cell:
    def cell(reading: SummarizedResult) -> str:
        peak = reading.result.peaks.get(name)
        return "" if peak is None else human(peak, unit)

    return cell


def _rate(reading: SummarizedResult) -> str:
    rate = reading.measured_only.get("throughput")
    return human(rate.value, "") if rate else ""


def _samples(reading: SummarizedResult) -> str:
    step = reading.measured_only.get("step_time")
    return str(step.n) if step else ""


# column → text of a cell
COLUMNS: dict[str, Cell] = {
    "step time": _quantity("step_time"),
    "95 % interval": lambda reading: interval(reading.measured_only.get("step_time")),
    "speed": lambda reading: "",  # relative to other rows, see _speeds
    "items/s": _rate,
    **{name: _quantity(name) for name in ("p50", "p90", "p99", "mean", "min")},
    "spread": _quantity("coefficient_of_variation"),
    "first step": _quantity("first_step"),
    "open": _quantity("open_time"),
    "total": _quantity("total_time"),
    "flops": _quantity("flop_rate"),
    "communication": _quantity("communication_share"),
    "memory": _peak("max_rss", "B"),
    "gpu memory": _peak("max_gpu_memory", "B"),
    "energy": _peak("energy_joules", "J"),
    "cpu": _peak("mean_cpu_percent", "%"),
    "samples": _samples,
    "contender": lambda reading: reading.result.tags.get("contender", ""),
    "pair": lambda reading: reading.result.tags.get("pair", ""),
    "label": lambda reading: reading.result.label,
    "id": lambda reading: reading.result.id,
}

_HEADINGS = {"speed": "speed / fastest"}

# column → requirement of its values
_NEEDS = {
    **dict.fromkeys(("p50", "p90", "p99"), "measured with --latency only"),
    "energy": "no energy counter could be read here",
    "communication": "measured with --communication on several devices only",
    "gpu memory": "no GPU was used, or its memory could not be read",
    "flops": "not known for this workload",
}


def _wrong_rows(
    readings: Sequence[SummarizedResult], mismatches: Sequence[Mismatch]
) -> dict[int, float]:
    """Row → difference of its outputs, of those that are wrong."""
    wrong = {name: difference for m in mismatches for name, difference in m.wrong.items()}
    return {
        row: wrong[reading.result.id]
        for row, reading in enumerate(readings)
        if reading.result.id in wrong
    }


def _rates(readings: Sequence[SummarizedResult]) -> dict[int, Quantity]:
    """Row → items per second, if all rows have one workload: otherwise not comparable."""
    rates = {
        row: reading.measured_only["throughput"]
        for row, reading in enumerate(readings)
        if "throughput" in reading.measured_only
    }
    workloads = {readings[row].result.case.workload for row in rates}
    return rates if len(workloads) == 1 else {}


def _speeds(
    readings: Sequence[SummarizedResult],
    wrong: Mapping[int, float],
    mismatches: Sequence[Mismatch],
) -> list[str]:
    """Speed of each row relative to the fastest with right outputs, by items per second; marked if
    its options differ from those of the fastest."""
    rates = _rates(readings)
    speeds = {row: f"outputs differ by {difference:.2g}" for row, difference in wrong.items()}
    right = sorted((row for row in rates if row not in wrong), key=lambda row: -rates[row].value)
    note = next((mismatch.text for mismatch in mismatches if mismatch.what == OPTIONS), "")
    for row in right:
        ours, others = (readings[each].result.case.options for each in (right[0], row))
        differs = any(f" {n} " in note and others.get(n) != value for n, value in ours.items())
        ratio = rates[row].value / rates[right[0]].value
        speeds[row] = f"{ratio:.2f} x{MARK if differs else ''}"
    return [speeds.get(row, "") for row in range(len(readings))]


def winner_text(readings: Sequence[SummarizedResult], ranking: Ranking | None) -> str:
    """`fastest: CASE, …` if the results name one, else ""."""
    notes = _winner(readings, case_names(readings), ranking)
    return next((note for note in notes if note.startswith(WINNER)), "")


def _winner(
    readings: Sequence[SummarizedResult], names: Sequence[str], ranking: Ranking | None
) -> list[str]:
    """Note naming the fastest case, or the tie and the `ab` command that would break it."""
    if ranking is None:
        return []
    rows = {reading.result.id: row for row, reading in enumerate(readings)}
    first, other = names[rows[ranking.first]], names[rows[ranking.other]]
    if ranking.certain and not is_quick(readings):
        return [f"{WINNER} {first}, {ranking.ratio:.2f} times the next ({other})"]
    few = ", from too few effective samples" if ranking.few else ""
    cases = [readings[rows[result]].result.case for result in (ranking.other, ranking.first)]
    backends = registry.names("backends")
    can_run = all(case.backend in backends for case in cases)
    if is_quick(readings):
        decide = ab_command(*cases) if can_run else "assay ab"
        return [f"no winner is named from a quick run; to decide, use {decide}"]
    return [
        f"{first} and {other} cannot be distinguished with {_processes(ranking)}{few}; "
        f"use {ab_command(*cases) if can_run else 'assay ab'}"
    ]


def _processes(ranking: Ranking) -> str:
    fewest, most = sorted(ranking.processes)
    if fewest != most:
        return f"{fewest} and {most} processes"
    return "one process each" if most == 1 else f"{most} processes each"


TOKEN_COLUMNS = {
    "first token": "time_to_first_token",
    "per token": "time_per_output_token",
    "p90": "time_per_output_token_p90",
    "p99": "time_per_output_token_p99",
    "prefill MFU": "prefill_peak_share",
    "decode MFU": "decode_peak_share",
    "decode bandwidth": "decode_bandwidth_share",
    "cache": "cache_memory",
}

SHOWN = ("prompt", "batch_size", "generated", "task")  # parameters


def generation_tables(readings: Sequence[SummarizedResult]) -> tuple[Table, ...]:
    """One table of text generation, if any."""
    generating = [r for r in readings if "time_to_first_token" in r.measured_only]
    if not generating:
        return ()
    generating.sort(key=lambda r: (_token_case_name(r), *map(int, _sizes(r))))
    shown = [
        title
        for title, key in TOKEN_COLUMNS.items()
        if any(key in r.measured_only for r in generating)
    ]
    return (
        Table(
            columns=("case", "prompt", "batch", "generated", *shown, "tokens/s"),
            rows=tuple((_token_case_name(r), *_sizes(r), *_cells(r, shown)) for r in generating),
            numeric=frozenset({"prompt", "batch", "generated", *TOKEN_COLUMNS, "tokens/s"}),
            title="Generation",
            notes=_notes(generating, shown),
        ),
    )


def _token_case_name(reading: SummarizedResult) -> str:
    """The case's key without parameters that have their own columns."""
    left, at, right = reading.result.case.key.rpartition("@")
    workload, colon, pairs = left.partition(":")
    rest = ",".join(pair for pair in pairs.split(",") if pair.partition("=")[0] not in SHOWN)
    return f"{workload}{colon if rest else ''}{rest}{at}{right}"


def _sizes(reading: SummarizedResult) -> tuple[str, str, str]:
    facts = reading.result.facts
    prompt, batch, generated = (facts.get(n, 0) for n in ("prompt", "batch_size", "generated"))
    return str(prompt), str(batch), str(generated)


def _cells(reading: SummarizedResult, shown: Sequence[str]) -> list[str]:
    rate = reading.measured_only.get("throughput")
    cells = [value(reading.measured_only.get(TOKEN_COLUMNS[title])) for title in shown]
    return [*cells, human(rate.value, "") if rate else ""]


def _notes(readings: Sequence[SummarizedResult], shown: Sequence[str]) -> tuple[str, ...]:
    """Notes on what was timed."""
    backends: dict[str, list[str]] = {}
    for reading in readings:
        facts, backend = reading.result.facts, reading.result.case.backend
        names = backends.setdefault(str(facts.get("timed_over", "")), [])
        names += [backend] if backend not in names else []
    words = {
        "tokens": "the host sees every token: times per token are over tokens",
        "requests": "one loop generates all tokens of a request: times per token are over requests",
    }
    notes = [
        f"{', '.join(names)}: {words[kind]}" for kind, names in backends.items() if kind in words
    ]
    if "decode MFU" not in shown:
        notes.append("run assay doctor to show shares of this machine's peaks")
    return tuple(notes)

"""Readings that made text → a table over prompt and batch, in the words its users quote."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.findings import Reading, Table
from assay.core.units import human
from assay.reporting.timings import value

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


def generation_tables(readings: Sequence[Reading]) -> tuple[Table, ...]:
    """One, of those that made text; none where none did."""
    made = [r for r in readings if "time_to_first_token" in r.own]
    if not made:
        return ()
    made.sort(key=lambda r: (_token_case_name(r), *map(int, _sizes(r))))
    shown = [title for title, key in TOKEN_COLUMNS.items() if any(key in r.own for r in made)]
    return (
        Table(
            columns=("case", "prompt", "batch", "generated", *shown, "tokens/s"),
            rows=tuple((_token_case_name(r), *_sizes(r), *_cells(r, shown)) for r in made),
            numeric=frozenset({"prompt", "batch", "generated", *TOKEN_COLUMNS, "tokens/s"}),
            title="Generation",
            notes=_notes(made, shown),
        ),
    )


def _token_case_name(reading: Reading) -> str:
    """The case's key without what has a column of its own."""
    left, at, right = reading.result.case.key.rpartition("@")
    workload, colon, pairs = left.partition(":")
    kept = ",".join(pair for pair in pairs.split(",") if pair.partition("=")[0] not in SHOWN)
    return f"{workload}{colon if kept else ''}{kept}{at}{right}"


def _sizes(reading: Reading) -> tuple[str, str, str]:
    facts = reading.result.facts
    prompt, batch, generated = (facts.get(n, 0) for n in ("prompt", "batch_size", "generated"))
    return str(prompt), str(batch), str(generated)


def _cells(reading: Reading, shown: Sequence[str]) -> list[str]:
    rate = reading.own.get("throughput")
    cells = [value(reading.own.get(TOKEN_COLUMNS[title])) for title in shown]
    return [*cells, human(rate.value, "") if rate else ""]


def _notes(readings: Sequence[Reading], shown: Sequence[str]) -> tuple[str, ...]:
    """What the times are of; and what would show more."""
    over: dict[str, list[str]] = {}
    for reading in readings:
        facts, backend = reading.result.facts, reading.result.case.backend
        names = over.setdefault(str(facts.get("timed_over", "")), [])
        names += [backend] if backend not in names else []
    words = {
        "tokens": "the host sees every token: times per token are over tokens",
        "requests": "one loop makes all tokens of a request: times per token are over requests",
    }
    notes = [f"{', '.join(names)}: {words[kind]}" for kind, names in over.items() if kind in words]
    if "decode MFU" not in shown:
        notes.append("shares of this machine's peaks are shown once assay doctor has measured them")
    return tuple(notes)

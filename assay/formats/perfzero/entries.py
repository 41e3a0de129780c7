"""What a benchmark method reports: the fields of TensorFlow's BenchmarkEntry, as records."""

from __future__ import annotations

import msgspec


class ReportedMetric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number, and between which bounds it has to lie for the benchmark to succeed."""

    name: str
    value: float
    min_value: float | None = None
    max_value: float | None = None


class BenchmarkEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One call of report_benchmark. What was not given is None; protobuf leaves zeros out too."""

    name: str  # Class.method, or Class.NAME for a report with a name of its own
    iters: int | None = None
    cpu_time: float | None = None
    wall_time: float | None = None
    throughput: float | None = None
    extras: dict[str, float | str] = {}
    metrics: tuple[ReportedMetric, ...] = ()
    time: float = 0.0  # when it appeared, in seconds since 1970


def main_entry(
    entries: tuple[BenchmarkEntry, ...], owner: str, method: str
) -> BenchmarkEntry | None:
    """The report that bears the method's own name, else the first."""
    own = f"{owner}.{method}"
    return next((e for e in entries if e.name == own), entries[0] if entries else None)


def labelled(
    entries: tuple[BenchmarkEntry, ...], owner: str, method: str
) -> list[tuple[str, BenchmarkEntry]]:
    """Each report with what goes before the names of its numbers: nothing for the main one.

    Reports that share a name are told apart by a count.
    """
    main = main_entry(entries, owner, method)
    seen: dict[str, int] = {}
    found = []
    for entry in entries:
        short = entry.name.removeprefix(f"{owner}.")
        seen[short] = seen.get(short, 0) + 1
        count = f"#{seen[short]}" if seen[short] > 1 else ""
        found.append(("" if entry is main else f"{short}{count}/", entry))
    return found

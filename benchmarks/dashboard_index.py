"""An index made by a script, for benchmarks/dashboard.py: many series, empty run folders."""

from __future__ import annotations

import math
import random
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from assay.core.findings import ANALYSIS_VERSION, Quantity, Summary
from assay.core.series import SeriesKey
from assay.stores.sqlite_index import connect

START = datetime(2024, 1, 1, tzinfo=UTC)
LONG = 10_000  # points of one series
Row = tuple[Any, ...]


def fill(home: Path, series: int, results: int, long: bool = True) -> None:
    """One series of ten steps once, by a tenth; the rest only vary. `long`: and one of 10,000."""
    (home / "runs").mkdir(parents=True)
    database = connect(home / "index.sqlite")
    keys = [key_of(number) for number in range(series + 1)]
    database.execute("BEGIN")
    database.execute("INSERT INTO metrics VALUES (1, 'step_time', 's')")
    database.executemany(
        "INSERT INTO series VALUES (?, ?, ?)",
        [(n, key.id, msgspec.json.encode(key).decode()) for n, key in enumerate(keys, 1)],
    )
    draw = random.Random(1)
    nights = [run_of(night) for night in range(results)]
    for run in nights:
        (home / "runs" / run).mkdir()
    database.executemany("INSERT INTO whole_runs VALUES (?)", [(run,) for run in nights])
    for night, run in enumerate(nights):
        started = (START + timedelta(days=night)).isoformat()
        rows, points = [], []
        for number, key in enumerate(keys[:-1], 1):
            place = night * series + number
            rows.append(
                (
                    *(place, f"{run}/{number:04d}", run, started, "ok", key.workload, key.backend),
                    *(key.key, "nightly", "{}", "host", f"{night:040x}", number),
                )
            )
            slower = number % 10 == 0 and night > results - 20
            value = 0.01 * (1.1 if slower else 1.0) * math.exp(draw.gauss(0, 0.01))
            points.append((number, 1, place, value, value * 0.99, value * 1.01))
        insert(database, rows, points)
    if long:
        insert(database, *long_series(series + 1, series * results, draw))
    database.execute("COMMIT")
    database.close()


def insert(database: sqlite3.Connection, rows: list[Row], points: list[Row]) -> None:
    database.executemany(f"INSERT INTO results VALUES ({','.join('?' * 13)})", rows)
    database.executemany("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?)", points)
    kept = [
        (
            row[1],
            ANALYSIS_VERSION,
            msgspec.json.encode(Summary(quantities={"step_time": quantity(point)})),
        )
        for row, point in zip(rows, points, strict=True)
    ]
    database.executemany("INSERT INTO summaries VALUES (?, ?, ?)", kept)


def quantity(point: Row) -> Quantity:
    value, low, high = (float(part) for part in point[3:])
    return Quantity(value=value, low=low, high=high, unit="s", estimator="median", n=300)


def long_series(number: int, places: int, draw: random.Random) -> tuple[list[Row], list[Row]]:
    """One of 10,000 points, an hour apart, that steps once in the middle."""
    key, rows, points = key_of(number - 1), [], []
    for hour in range(LONG):
        place, run = places + hour + 1, f"hourly-{hour:05d}"
        started = (START - timedelta(hours=LONG - hour)).isoformat()
        rows.append(
            (
                *(place, f"{run}/001", run, started, "ok", key.workload, key.backend),
                *(key.key, "hourly", "{}", "host", f"{hour:040x}", number),
            )
        )
        value = 0.01 * (1.1 if hour > LONG // 2 else 1.0) * math.exp(draw.gauss(0, 0.01))
        points.append((number, 1, place, value, value * 0.99, value * 1.01))
    return rows, points


def key_of(number: int) -> SeriesKey:
    workload, backend = f"net{number:04d}", ("jax", "torch", "keras-jax")[number % 3]
    return SeriesKey(
        workload=workload, backend=backend, machine="made", key=f"{workload}@{backend}"
    )


def run_of(night: int) -> str:
    return f"{(START + timedelta(days=night)):%Y%m%d}-030000-abcd"

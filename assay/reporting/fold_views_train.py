"""Trainings → one table: net, backend, epochs, accuracy, expected, verdict, times."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.findings import Quantity, Reading, Table
from assay.core.units import human
from assay.reporting import accuracy

TRAIN_COLUMNS = (
    *("net", "backend", "epochs", "accuracy", "95 % interval", "expected", "verdict"),
    *("training", "to the expected"),
)


def trained(readings: Sequence[Reading]) -> bool:
    """Whether all of these are trainings."""
    return bool(readings) and all("recipe" in reading.result.facts for reading in readings)


def trainings_table(readings: Sequence[Reading], title: str = "") -> Table:
    """One row a result, as in the table of accuracies, with its epochs and what they took."""
    usual = accuracy.accuracy_table(readings, title)
    rows = []
    for reading, row in zip(readings, usual.rows, strict=True):
        cells = dict(zip(usual.columns, row, strict=True))
        found = reading.summary.quantities
        cells["epochs"] = str(len(reading.result.values("epoch_accuracy")) or "")
        cells["training"] = _seconds(found.get("train_time"))
        cells["to the expected"] = _seconds(found.get("time_to_accuracy"))
        rows.append(tuple(cells[name] for name in TRAIN_COLUMNS))
    return Table(
        columns=TRAIN_COLUMNS,
        rows=tuple(rows),
        numeric=frozenset(TRAIN_COLUMNS) - {"net", "backend", "verdict"},
        title=title,
        notes=usual.notes,
    )


def _seconds(quantity: Quantity | None) -> str:
    return human(quantity.value, quantity.unit) if quantity else ""

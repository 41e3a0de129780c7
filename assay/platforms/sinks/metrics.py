"""Metrics as CloudWatch reads them from a log: JSON lines in the embedded metric format."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.core.errors import AssayError
from assay.core.findings import Reading
from assay.platforms.sinks.bigquery import Delivered

NAMESPACE = "assay"
_UNITS = {"s": "Seconds", "B": "Bytes", "%": "Percent", "": "None", "items/s": "Count/Second"}
_MOST = 100  # metrics of one line, as CloudWatch takes them


def line(reading: Reading) -> dict[str, Any]:
    """One result: its quantities as metrics, its case and host as dimensions."""
    result = reading.result
    numbers = {
        name: one
        for name, one in reading.summary.quantities.items()
        if math.isfinite(one.value) and name not in ("id", "case", "host", "label", "_aws")
    }
    chosen = dict(list(numbers.items())[:_MOST])
    when = datetime.fromisoformat(result.started) if result.started else datetime.fromtimestamp(0)
    return {
        "_aws": {
            "Timestamp": int(when.timestamp() * 1000),
            "CloudWatchMetrics": [
                {
                    "Namespace": NAMESPACE,
                    "Dimensions": [["case", "host"]],
                    "Metrics": [
                        {"Name": name, "Unit": _UNITS.get(one.unit, "None")}
                        for name, one in chosen.items()
                    ],
                }
            ],
        },
        "id": result.id,
        "case": result.case.key,
        "host": str(result.environment.system.get("hostname", "")),
        "label": result.label,
        "status": result.status,
        **{name: one.value for name, one in chosen.items()},
    }


def append(path: Path, rows: Iterable[dict[str, Any]]) -> Delivered:
    """Those whose id the file does not have yet, at its end."""
    try:
        there = set()
        if path.exists():
            for text in path.read_text(errors="replace").splitlines():
                there.add(_id(text))
        all_rows = list(rows)
        fresh = [row for row in all_rows if row["id"] not in there]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in fresh)
    except OSError as error:
        raise AssayError(
            f"{path} cannot be written ({error.strerror}).", hint="Give another file."
        ) from None
    return Delivered(len(fresh), len(all_rows) - len(fresh))


def _id(text: str) -> str:
    try:
        return str(json.loads(text).get("id", ""))
    except (ValueError, AttributeError):
        return ""

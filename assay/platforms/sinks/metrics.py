"""JSON lines in CloudWatch's embedded metric format."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.core.errors import AssayError
from assay.core.findings import SummarizedResult
from assay.platforms.sinks.bigquery import DeliveryCount

NAMESPACE = "assay"
_UNITS = {"s": "Seconds", "B": "Bytes", "%": "Percent", "": "None", "items/s": "Count/Second"}
_MAX_ROWS = 100  # metrics per line, CloudWatch's limit


def line(reading: SummarizedResult) -> dict[str, Any]:
    """One result: its quantities as metrics, its case and host as dimensions."""
    result = reading.result
    numbers = {
        name: quantity
        for name, quantity in reading.summary.quantities.items()
        if math.isfinite(quantity.value) and name not in ("id", "case", "host", "label", "_aws")
    }
    chosen = dict(list(numbers.items())[:_MAX_ROWS])
    when = datetime.fromisoformat(result.started) if result.started else datetime.fromtimestamp(0)
    return {
        "_aws": {
            "Timestamp": int(when.timestamp() * 1000),
            "CloudWatchMetrics": [
                {
                    "Namespace": NAMESPACE,
                    "Dimensions": [["case", "host"]],
                    "Metrics": [
                        {"Name": name, "Unit": _UNITS.get(quantity.unit, "None")}
                        for name, quantity in chosen.items()
                    ],
                }
            ],
        },
        "id": result.id,
        "case": result.case.key,
        "host": str(result.environment.system.get("hostname", "")),
        "label": result.label,
        "status": result.status,
        **{name: quantity.value for name, quantity in chosen.items()},
    }


def append(path: Path, rows: Iterable[dict[str, Any]]) -> DeliveryCount:
    """Append rows with new ids to a file."""
    try:
        existing = set()
        if path.exists():
            for text in path.read_text(errors="replace").splitlines():
                existing.add(_id(text))
        all_rows = list(rows)
        fresh = [row for row in all_rows if row["id"] not in existing]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in fresh)
    except OSError as error:
        raise AssayError(
            f"{path} cannot be written ({error.strerror}).", hint="Choose another file."
        ) from None
    return DeliveryCount(len(fresh), len(all_rows) - len(fresh))


def _id(text: str) -> str:
    try:
        return str(json.loads(text).get("id", ""))
    except (ValueError, AttributeError):
        return ""

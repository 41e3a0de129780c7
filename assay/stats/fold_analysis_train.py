"""Epochs of a training → how long it took, and when it was good enough."""

from __future__ import annotations

import itertools

from assay.core.findings import Quantity
from assay.core.records import Result

METRICS = ("epoch_time", "loss", "train_accuracy", "epoch_accuracy")  # raw, one value an epoch


def training_quantities(result: Result) -> dict[str, Quantity]:
    """`train_time`, and `time_to_accuracy` where the accuracy expected was reached.

    Both are seconds of training, with tracing and compiling, without the tests in between.
    """
    times = (*result.values("epoch_time", "first"), *result.values("epoch_time"))
    if not times:
        return {}
    passed = list(itertools.accumulate(times))
    found = {"train_time": _seconds(passed[-1], f"of {len(times)} epochs")}
    for name in ("loss", "train_accuracy"):
        found[name] = _last(result, name)
    expected = float(result.facts.get("expected_accuracy", 0.0))
    right = result.values("epoch_accuracy")
    for count, (seconds, accuracy) in enumerate(zip(passed, right, strict=False), 1):
        if expected and accuracy >= expected:
            return found | {"time_to_accuracy": _seconds(seconds, f"to the end of epoch {count}")}
    return found


def _seconds(value: float, estimator: str) -> Quantity:
    return Quantity(value=value, low=value, high=value, unit="s", estimator=estimator, n=1)


def _last(result: Result, metric: str) -> Quantity:
    value, unit = result.values(metric)[-1], "%" if metric.endswith("accuracy") else ""
    return Quantity(value=value, low=value, high=value, unit=unit, estimator="last epoch", n=1)

"""One result → its quantities: each with interval, unit, estimator and count."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from assay.core.findings import Quantity, Summary
from assay.core.records import Result
from assay.stats import accuracy, estimates, generation
from assay.stats.doubts.samples import doubts
from assay.stats.intervals import Array, Estimate, interval_over_processes, mean, quantile, student
from assay.stats.roofline import position

POWER = 0.8416  # normal quantile of 80 %: power of the minimum detectable effect


def summarize(result: Result) -> Summary:
    """Quantities of a result. Metrics that the program reported keep their names, and quantities
    of assay with the same name become `command_NAME`."""
    own = result.measured_only()
    processes = [process for process in estimates.processes(own) if len(process.values)]
    quantities = _measured_quantities(own, processes)
    reported = _reported_quantities(result)
    return Summary(
        quantities={f"command_{n}" if n in reported else n: q for n, q in quantities.items()}
        | reported,
        doubts=doubts(own),
        checks=accuracy.checks(own, quantities),
        skipped=tuple(process.skipped for process in processes),
    )


def _measured_quantities(result: Result, processes: list[estimates.Process]) -> dict[str, Quantity]:
    """Quantities that assay measured."""
    quantities = _step_quantities(processes, result) if processes else {}
    quantities |= _process_quantities(result)
    for metric in _other_metrics(result):
        quantities |= _metric_quantity(result, metric)
    quantities |= accuracy.quantities(result) | training_quantities(result)
    return quantities | generation.quantities(result)


def _reported_quantities(result: Result) -> dict[str, Quantity]:
    """Quantities that the program reported, nan and infinity included."""
    quantities: dict[str, Quantity] = {}
    reported = result.reported_metrics
    for metric in dict.fromkeys(part.metric for part in result.samples if part.metric in reported):
        values = np.asarray(result.values(metric), dtype=np.float64)
        if np.isfinite(values).all():
            quantities |= _metric_quantity(result, metric)
        else:
            unit = next(part.unit for part in result.samples if part.metric == metric)
            quantities[metric] = _single(float(np.median(values)), unit, "median", len(values))
    return quantities


def _step_quantities(processes: list[estimates.Process], result: Result) -> dict[str, Quantity]:
    values = [process.values for process in processes]
    whole, count = np.concatenate(values), sum(map(len, values))
    step = _widen_to_resolution(
        _quantity(estimates.case_estimate(_as_processes(values)), "s", _estimator(values), count),
        estimates.timer_resolution(result),
    )
    average = (
        mean(whole)
        if len(values) == 1
        else interval_over_processes([float(v.mean()) for v in values])
    )
    quantities = {
        "step_time": step,
        "mean": _quantity(average, "s", "mean", count),
        "min": _single(min(process.fastest for process in processes), "s", "min", count),
    }
    if count > 1:
        spread = 100 * float(whole.std() / whole.mean())
        quantities |= {
            "coefficient_of_variation": _single(spread, "%", "standard deviation / mean", count),
            "minimum_detectable_effect": _detectable_effect(step, len(values)),
        }
    if result.items:
        quantities["throughput"] = _rate(step, result.items, "items/s", "items")
    if result.procedure.latency:
        quantities |= _percentiles(whole)
    return quantities | _work(result, step)


def _work(result: Result, step: Quantity) -> dict[str, Quantity]:
    """FLOP/s, and their share of the measured peak if there is one."""
    roofline = position(result)
    if roofline is None:
        return {}
    work = roofline.flops * step.value
    quantities = {"flop_rate": _rate(step, work, "FLOP/s", "FLOP")}
    if roofline.peak:
        quantities["peak_share"] = _rate(step, 100 * work / roofline.peak, "%", "share of the peak")
    return quantities


def _estimator(values: Sequence[Array]) -> str:
    several = len(values) > 1
    return (
        f"geometric mean of {len(values)} process medians" if several else "median of one process"
    )


def _as_processes(values: Sequence[Array]) -> list[estimates.Process]:
    return [estimates.Process(part, "steady", 0) for part in values]


def _detectable_effect(step: Quantity, processes: int) -> Quantity:
    """Minimum detectable effect between two such measurements, with 80 % power.

    Bloom (1995): (t of the two-sided 5 % + z of 80 % power) standard errors of a difference.
    """
    degrees = processes - 1 if processes > 1 else step.n - 1
    error = (step.high - step.low) / 2 / student(degrees)
    twice = student(2 * degrees) + POWER
    share = 100 * twice * math.sqrt(2) * error / step.value
    return _single(share, "%", "5 % two-sided, 80 % power, of two such measurements", step.n)


def _percentiles(values: Array) -> dict[str, Quantity]:
    return {
        name: _quantity(quantile(values, share), "s", name, len(values))
        for name, (share, needed) in estimates.PERCENTILES.items()
        if len(values) >= needed
    }


def _process_quantities(result: Result) -> dict[str, Quantity]:
    """Quantities measured once per process."""
    quantities = {}
    for name, metric, phase in (
        ("first_step", "step_time", "first"),
        ("open_time", "open_time", "open"),
    ):
        parts = estimates.process_values(result, metric, phase)  # type: ignore[arg-type]
        firsts = estimates.usable([part[0] for part in parts if part])
        if len(firsts):
            kind = "single" if len(firsts) == 1 else f"geometric mean of {len(firsts)} processes"
            quantities[name] = _quantity(
                interval_over_processes(firsts.tolist()), "s", kind, len(firsts)
            )
    if result.seconds:
        quantities["total_time"] = _single(result.seconds, "s", "single", 1)
    return quantities


def _other_metrics(result: Result) -> list[str]:
    known = {
        "step_time",
        "open_time",
        *accuracy.COUNTS,
        *METRICS[1:],
        *generation.METRICS,
    }
    steady = (part.metric for part in result.samples if part.phase == "steady")
    return [metric for metric in dict.fromkeys(steady) if metric not in known]


def _metric_quantity(result: Result, metric: str) -> dict[str, Quantity]:
    """A metric that a session reported; it may be negative; non-finite values are skipped."""
    values = np.asarray(result.values(metric), dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return {}
    unit = next(part.unit for part in result.samples if part.metric == metric)
    quantity = _quantity(quantile(values), unit, "median", len(values))
    if unit == "s":
        quantity = _widen_to_resolution(quantity, estimates.timer_resolution(result, metric))
    return {metric: quantity}


def _widen_to_resolution(quantity: Quantity, resolution: float) -> Quantity:
    """Equal values of a coarse timer may differ by less than its resolution."""
    if quantity.low != quantity.high or quantity.n < 2:
        return quantity
    half = min(resolution, abs(quantity.value)) / 2
    return replace(quantity, low=quantity.value - half, high=quantity.value + half)


def _quantity(estimate: Estimate, unit: str, estimator: str, count: int) -> Quantity:
    return Quantity(
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        unit=unit,
        estimator=estimator,
        n=count,
    )


def _single(value: float, unit: str, estimator: str, count: int) -> Quantity:
    """A number without an interval."""
    return _quantity(Estimate(value, math.nan, math.nan, 1.0), unit, estimator, count)


def _rate(step: Quantity, amount: float, unit: str, what: str) -> Quantity:
    """An amount per step, as a rate."""
    return Quantity(
        value=amount / step.value,
        low=amount / step.high,
        high=amount / step.low,
        unit=unit,
        estimator=f"{what} / {step.estimator}",
        n=step.n,
    )


METRICS = ("epoch_time", "loss", "train_accuracy", "epoch_accuracy")  # raw, one value per epoch


def training_quantities(result: Result) -> dict[str, Quantity]:
    """`train_time`, and `time_to_accuracy` if the expected accuracy was reached.

    Both are seconds of training, with tracing and compilation, without evaluations.
    """
    times = (*result.values("epoch_time", "first"), *result.values("epoch_time"))
    if not times:
        return {}
    passed = list(itertools.accumulate(times))
    quantities = {"train_time": _seconds(passed[-1], f"of {len(times)} epochs")}
    for name in ("loss", "train_accuracy"):
        quantities[name] = _last(result, name)
    expected = float(result.facts.get("expected_accuracy", 0.0))
    right = result.values("epoch_accuracy")
    for count, (seconds, share) in enumerate(zip(passed, right, strict=False), 1):
        if expected and share >= expected:
            return quantities | {
                "time_to_accuracy": _seconds(seconds, f"to the end of epoch {count}")
            }
    return quantities


def _seconds(value: float, estimator: str) -> Quantity:
    return Quantity(value=value, low=value, high=value, unit="s", estimator=estimator, n=1)


def _last(result: Result, metric: str) -> Quantity:
    value, unit = result.values(metric)[-1], "%" if metric.endswith("accuracy") else ""
    return Quantity(value=value, low=value, high=value, unit=unit, estimator="last epoch", n=1)

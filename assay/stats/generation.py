"""Quantities of text generation: time to first token, time per token, memory, shares of peaks."""

from __future__ import annotations

import math

from assay.core.findings import Quantity
from assay.core.records import Result
from assay.core.sessions import FIRST_TOKEN, NEXT_TOKEN
from assay.stats import estimates
from assay.stats.intervals import Array, Estimate, quantile
from assay.stats.roofline import peak

FIRST, NEXT = METRICS = (FIRST_TOKEN, NEXT_TOKEN)
# Metrics that can be compared, and the timed metric of each. For all rows together: tokens per
# second, and the inverse, the time per token.
RATE, TOKEN = "decode_throughput", "token_time"
TIMED = {FIRST: FIRST, NEXT: NEXT, RATE: NEXT, TOKEN: NEXT}
BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}


def quantities(result: Result) -> dict[str, Quantity]:
    """Empty without generated text."""
    by_name: dict[str, Quantity] = {}
    for metric, over in ((FIRST, "requests"), (NEXT, str(result.facts.get("timed_over", "")))):
        values = estimates.usable(result.values(metric))
        if len(values):
            by_name |= _times(metric, values, over)
    if NEXT in by_name:
        by_name |= _decoding(result, by_name[NEXT])
    if FIRST in by_name:
        work = 2 * _fact(result, "prompt_multiply_adds") * _fact(result, "batch_size")
        by_name |= _share("prefill_peak_share", work, by_name[FIRST], _compute_peak(result))
        by_name["cache_memory"] = _plain(
            _cache_bytes(result), "B", "counted from the model's sizes"
        )
    return by_name


def convert_times(metric: str, times: Array, result: Result) -> Array:
    """Convert times of tokens to a derived metric."""
    rows = _fact(result, "batch_size") or 1.0
    return {RATE: lambda: rows / times, TOKEN: lambda: times / rows}.get(metric, lambda: times)()


def _times(metric: str, values: Array, over: str) -> dict[str, Quantity]:
    quantities = {metric: _quantity(quantile(values), f"median over {over}", len(values))}
    for name, (share, needed) in estimates.PERCENTILES.items():
        if name != "p50" and len(values) >= needed:
            quantities[f"{metric}_{name}"] = _quantity(
                quantile(values, share), f"{name} over {over}", len(values)
            )
    return quantities


def _decoding(result: Result, token_time: Quantity) -> dict[str, Quantity]:
    """Tokens after the first: rate, and shares of peaks."""
    rows = _fact(result, "batch_size")
    work = 2 * rows * _fact(result, "token_multiply_adds")
    return {
        RATE: _rate(token_time, rows, "items/s", "tokens"),
        **_share("decode_peak_share", work, token_time, _compute_peak(result)),
        **_share(
            "decode_bandwidth_share", _memory_traffic(result), token_time, peak(result, "copy")
        ),
    }


def _memory_traffic(result: Result) -> float:
    """Minimum bytes to read for a token: all weights once, and the cache of every row.

    Weights with different dtypes for storage and computation count in the smaller.
    """
    weights = min(_width(result, "parameter_dtype"), _width(result, "compute_dtype"))
    cache = _width(result, "compute_dtype") * _fact(result, "batch_size")
    return weights * _fact(result, "token_weights") + cache * _fact(result, "token_cache_numbers")


def _cache_bytes(result: Result) -> float:
    rows = _fact(result, "batch_size")
    return rows * _fact(result, "cache_numbers") * _width(result, "compute_dtype")


def _compute_peak(result: Result) -> float | None:
    return peak(result, str(result.case.options.get("precision", "float32")))


def _width(result: Result, fact: str) -> int:
    return BYTES.get(str(result.facts.get(fact, "")), 4)


def _fact(result: Result, name: str) -> float:
    return float(result.facts.get(name, 0))


def _share(
    name: str, amount: float, time: Quantity, peak_value: float | None
) -> dict[str, Quantity]:
    if not amount or not peak_value:
        return {}
    return {name: _rate(time, 100 * amount / peak_value, "%", "share of the measured peak")}


def _rate(time: Quantity, amount: float, unit: str, what: str) -> Quantity:
    return Quantity(
        value=amount / time.value,
        low=amount / time.high,
        high=amount / time.low,
        unit=unit,
        estimator=f"{what} / {time.estimator}",
        n=time.n,
    )


def _plain(value: float, unit: str, estimator: str) -> Quantity:
    """A number without an interval."""
    return Quantity(value=value, low=math.nan, high=math.nan, unit=unit, estimator=estimator, n=1)


def _quantity(estimate: Estimate, estimator: str, count: int) -> Quantity:
    return Quantity(
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        unit="s",
        estimator=estimator,
        n=count,
    )

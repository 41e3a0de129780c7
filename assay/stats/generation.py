"""Text generation as its users quote it: first token, those after it, memory, shares of peaks."""

from __future__ import annotations

import math

from assay.core.findings import Quantity
from assay.core.records import Result
from assay.core.sessions import FIRST_TOKEN, NEXT_TOKEN
from assay.stats import estimates
from assay.stats.intervals import Array, Estimate, quantile
from assay.stats.roofline import peak

FIRST, NEXT = METRICS = (FIRST_TOKEN, NEXT_TOKEN)
# What may be compared of text, and what is timed for it. Of all rows together: tokens a second,
# and its inverse, the time of a token.
RATE, TOKEN = "decode_throughput", "token_time"
TIMED = {FIRST: FIRST, NEXT: NEXT, RATE: NEXT, TOKEN: NEXT}
BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}


def quantities(result: Result) -> dict[str, Quantity]:
    """Nothing where no text was made."""
    found: dict[str, Quantity] = {}
    for metric, over in ((FIRST, "requests"), (NEXT, str(result.facts.get("timed_over", "")))):
        values = estimates.usable(result.values(metric))
        if len(values):
            found |= _times(metric, values, over)
    if NEXT in found:
        found |= _decoding(result, found[NEXT])
    if FIRST in found:
        work = 2 * _fact(result, "prompt_multiply_adds") * _fact(result, "batch_size")
        found |= _share("prefill_peak_share", work, found[FIRST], _compute_peak(result))
        found["cache_memory"] = _plain(_cache_bytes(result), "B", "counted from the model's sizes")
    return found


def of_rows(metric: str, each: Array, result: Result) -> Array:
    """What is made of the times of tokens, where a metric is no such time itself."""
    rows = _fact(result, "batch_size") or 1.0
    return {RATE: lambda: rows / each, TOKEN: lambda: each / rows}.get(metric, lambda: each)()


def _times(metric: str, values: Array, over: str) -> dict[str, Quantity]:
    found = {metric: _quantity(quantile(values), f"median over {over}", len(values))}
    for name, (share, least) in estimates.PERCENTILES.items():
        if name != "p50" and len(values) >= least:
            found[f"{metric}_{name}"] = _quantity(
                quantile(values, share), f"{name} over {over}", len(values)
            )
    return found


def _decoding(result: Result, each: Quantity) -> dict[str, Quantity]:
    """Of the tokens after the first: rate, and how much of the machine they use."""
    rows = _fact(result, "batch_size")
    work = 2 * rows * _fact(result, "token_multiply_adds")
    return {
        RATE: _rate(each, rows, "items/s", "tokens"),
        **_share("decode_peak_share", work, each, _compute_peak(result)),
        **_share("decode_bandwidth_share", _moved(result), each, peak(result, "copy")),
    }


def _moved(result: Result) -> float:
    """Bytes that a token needs at least: all weights once, and of every row what it looks back on.

    Weights that are kept in one dtype and computed with in another count in the smaller.
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


def _share(name: str, amount: float, time: Quantity, most: float | None) -> dict[str, Quantity]:
    if not amount or not most:
        return {}
    return {name: _rate(time, 100 * amount / most, "%", "share of the measured peak")}


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

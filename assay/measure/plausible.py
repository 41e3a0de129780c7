"""A speed that no machine can have becomes an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from assay.core.records import Result, Value
from assay.measure.machine.doctor import fresh_peaks
from assay.stats.roofline import impossible


def refuse_impossible(
    result: Result, measure_peaks: Callable[[], Mapping[str, Value]] = fresh_peaks
) -> Result:
    """The result, failed and without its steady samples if its speed exceeds what known algorithms
    can have on this machine.

    Only if it exceeds the stored peak, which may be of a busier machine, the peak is measured
    again, and the higher one counts. Without a stored peak nothing is refused.
    """
    machine = result.environment.machine
    if result.status != "ok" or not impossible(result, machine):
        return result
    fresh = measure_peaks()
    best = {name: max(value, machine.get(name, value)) for name, value in fresh.items()}
    reason = impossible(result, {**machine, **best})
    if not reason:
        return result
    samples = tuple(part for part in result.samples if part.phase != "steady")
    return msgspec.structs.replace(result, status="failed", reason=reason, samples=samples)

"""Change of the machine's speed between results.

The yardstick is a fixed computation that is timed with each case
(measure/machine/reference_load.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.core.records import Result
from assay.core.units import difference

MIN_CHANGE = 0.05  # logarithm; noise of the yardstick


def machine_change(old: Result, new: Sequence[Result]) -> float:
    """Logarithm of the slowdown of the machine; 0 within noise, without a yardstick, or if the
    Python versions differ."""
    yardsticks = [known for result in (old, *new) if (known := _yardstick(result))]
    if len(yardsticks) <= len(new) or len({python for _, python in yardsticks}) > 1:
        return 0.0
    first, *others = (math.log(seconds) for seconds, _ in yardsticks)
    change = sum(others) / len(others) - first
    return change if abs(change) > MIN_CHANGE else 0.0


def format_change(change: float) -> str:
    """As "3.1 % slower"."""
    return f"{difference(math.exp(change), 1)} {'slower' if change > 0 else 'faster'}"


def _yardstick(result: Result) -> tuple[float, str] | None:
    machine = result.environment.machine
    seconds = machine.get("yardstick")
    if not isinstance(seconds, float) or seconds <= 0:
        return None
    return seconds, str(machine.get("yardstick_python", ""))

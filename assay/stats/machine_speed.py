"""Whether the machine itself became faster or slower between results, by the yardstick of each.

The yardstick is a fixed computation that is timed beside a case
(measure/machine/reference_load.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.core.records import Result

MOVED = 0.05  # as a logarithm; less is the noise of the yardstick


def machine_change(old: Result, new: Sequence[Result]) -> float:
    """By how much the machine itself became slower, as a logarithm: by a fixed computation that
    was timed beside each; 0 where it hardly did, where one of them has none, or not of the same
    Python."""
    found = [known for result in (old, *new) if (known := _yardstick(result))]
    if len(found) <= len(new) or len({python for _, python in found}) > 1:
        return 0.0
    first, *others = (math.log(seconds) for seconds, _ in found)
    change = sum(others) / len(others) - first
    return change if abs(change) > MOVED else 0.0


def told_change(change: float) -> str:
    """As in "3.1 % slower"."""
    return f"{100 * abs(math.expm1(change)):.1f} % {'slower' if change > 0 else 'faster'}"


def _yardstick(result: Result) -> tuple[float, str] | None:
    machine = result.environment.machine
    seconds = machine.get("yardstick")
    if not isinstance(seconds, float) or seconds <= 0:
        return None
    return seconds, str(machine.get("yardstick_python", ""))

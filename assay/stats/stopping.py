"""When there are enough samples.

Looking often and stopping at the first narrow interval stops on lucky ones, which cover too little.
So looks are few (geometric), the first is not too early, and a narrow interval has to be found
twice. The coverage with this rule on is measured by benchmarks/coverage.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.stats.intervals import Estimate

FIRST = 14  # samples before the first look
GROWTH = 1.5  # from look to look
EFFECTIVE = 4.0  # independent values the samples must be worth, by a cautious count
CONFIRMED = 2  # looks in a row that must find the interval narrow


def next_look(count: int) -> int:
    """How many samples there have to be before looking again, after a look at `count`."""
    return max(FIRST, math.ceil(count * GROWTH))


def narrow(estimate: Estimate, target: float) -> bool:
    """Whether the interval reaches the target: its half-width as a share of the value."""
    return estimate.effective >= EFFECTIVE and estimate.half_width <= target * estimate.value


def confirmed(looks: Sequence[bool]) -> bool:
    """Whether the last looks all found the interval narrow."""
    return len(looks) >= CONFIRMED and all(looks[-CONFIRMED:])

"""Does the level of a series change more than its short-term noise explains?

The variance of block means of a stationary series is that of its values, times the inefficiency of
their short-range correlation, over the length of a block. A slow swing and jumps between levels add
to it. The interval of the median cannot see them where they are slower than the run.
"""

from __future__ import annotations

import numpy as np

from assay.stats.intervals import Array, inefficiency

# Number of blocks, least values of each, which have to outlast their correlation, and the variance
# between them that is taken for a change, as a multiple of the expected one; by simulation
# (benchmarks/drift.py).
SPLITS = ((10, 6, 4.5), (24, 40, 3.5))
MIN_SPREAD = 0.004  # relative standard deviation of the level that is ignored
OUTLIERS = 3.0  # standard deviations, by the median absolute deviation


def level_spread(values: Array) -> float:
    """Relative standard deviation of the level between blocks; 0 within noise."""
    return max(_spread(values, *split) for split in SPLITS)


def _spread(values: Array, count: int, least: int, excess: float) -> float:
    size = len(values) // count
    if size < least:
        return 0.0
    middle = float(np.median(values))
    reach = OUTLIERS * 1.4826 * float(np.median(np.abs(values - middle)))
    blocks = values[-size * count :].clip(middle - reach, middle + reach).reshape(count, size)
    means = blocks.mean(axis=1)
    rest = (blocks - means[:, None]).ravel()
    expected = inefficiency(rest) * float(rest.var()) / (size - 1)
    between = float(means.var(ddof=1))
    if between <= excess * expected:
        return 0.0
    spread = (between - expected) ** 0.5 / middle
    return spread if spread > MIN_SPREAD else 0.0

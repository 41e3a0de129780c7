"""How much two identical things seem to differ: the noise of a machine, as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.measure.machine.fold_core_diagnosis import Noise

RESAMPLES = 1000

# A change of this many half-widths of a 95 % interval is seen in 80 % of trials:
# (1.96 + 0.84) / 1.96, the usual power calculation for a normal estimate.
POWER = (1.960 + 0.842) / 1.960


def noise(first: Sequence[float], second: Sequence[float]) -> Noise:
    """From samples taken in pairs, each pair close together in time."""
    a, b = np.log(np.asarray(first, float)), np.log(np.asarray(second, float))
    together = np.exp(np.concatenate([a, b]))
    random = np.random.default_rng(0)
    picks, others = random.integers(0, len(a), (2, RESAMPLES, len(a)))
    paired = np.median((b - a)[picks], axis=1)
    unpaired = np.median(b[picks], axis=1) - np.median(a[others], axis=1)
    return Noise(
        spread=float(np.std(together) / np.mean(together)),
        difference=float(np.expm1(np.median(b - a))),
        visible=POWER * _half_width(paired),
        visible_unpaired=POWER * _half_width(unpaired),
        pairs=len(a),
    )


def _half_width(values: np.ndarray) -> float:
    low, high = np.quantile(values, (0.025, 0.975))
    return float(high - low) / 2

"""Scores of a shift or a drift → p-values, from simulated series without either.

Made by `benchmarks/changepoint_levels.py step`: for each length the highest quantile over series
of independent noise and of neighbours that correlate by 0.3, 0.5 and 0.7.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.stats.intervals import Array

P_VALUES = (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5)
LENGTHS = (10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512)
STEP = (
    (8.4, 9.47, 10.29, 10.88, 11.16, 11.52, 11.64, 11.66),
    (8.83, 10.23, 11.15, 11.91, 12.56, 13.03, 13.29, 13.55),
    (9.25, 11.2, 12.49, 13.58, 14.51, 15.27, 16.02, 16.78),
    (9.19, 11.95, 13.91, 15.69, 17.05, 18.17, 19.23, 20.52),
    (8.79, 11.78, 14.2, 16.55, 18.32, 19.89, 20.92, 22.39),
    (8.35, 11.34, 13.87, 16.55, 18.94, 21.5, 24.32, 27.49),
    (8.05, 11.01, 13.53, 16.23, 18.69, 21.52, 25.06, 27.81),
    (7.85, 10.73, 13.17, 15.67, 17.94, 21.22, 23.76, 25.63),
    (7.77, 10.59, 13.03, 15.75, 18.02, 20.38, 23.49, 25.38),
    (7.9, 10.4, 12.78, 15.34, 17.61, 21.19, 23.25, 25.48),
    (8.11, 10.65, 12.94, 15.43, 17.73, 20.23, 22.22, 25.35),
    (8.61, 11.15, 13.39, 15.79, 17.99, 19.94, 22.88, 25.48),
)
LINE = (
    (7.11, 10.7, 13.55, 16.3, 19.91, 22.92, 30.46, 30.46),
    (6.72, 10.38, 13.08, 15.73, 18.11, 21.2, 23.92, 26.69),
    (5.86, 9.76, 12.71, 15.31, 17.41, 19.79, 22.04, 23.79),
    (4.13, 8.24, 11.54, 14.72, 17.42, 19.39, 21.32, 22.97),
    (3, 6.61, 10.17, 13.87, 16.62, 19.86, 22.12, 23.32),
    (2.53, 5.05, 8.02, 11.21, 14.36, 18.04, 21.03, 23.33),
    (2.53, 4.46, 6.91, 9.88, 12.47, 15.64, 18.25, 21.76),
    (2.53, 4.51, 6.3, 8.61, 11.14, 13.63, 16.05, 20.79),
    (2.52, 4.45, 6.32, 8.19, 10.41, 13.08, 15.47, 18.76),
    (2.55, 4.52, 6.4, 8.55, 10.68, 12.82, 16.14, 18.23),
    (2.57, 4.55, 6.51, 8.71, 10.68, 12.32, 15.03, 18.58),
    (2.65, 4.57, 6.44, 8.52, 10.17, 11.92, 13.84, 14.26),
)
BOUNDED = 24  # points: of fewer, ranks say no more than the last quantile


def step_p_value(scores: Array, length: int) -> Array:
    return _p_value(STEP, scores, length)


def line_p_value(scores: Array, length: int) -> Array:
    return _p_value(LINE, scores, length)


def _p_value(table: Any, scores: Array, length: int) -> Array:  # noqa: ANN401 (a table of numbers)
    """Between the simulated ones on a line of the logarithm, and further along its end."""
    places, logs = np.log(LENGTHS), np.log(P_VALUES)
    columns = np.array(table).T
    edges = np.array([np.interp(np.log(length), places, column) for column in columns])
    found = np.interp(scores, edges, logs)
    slope = (logs[-1] - logs[2]) / max(edges[-1] - edges[2], 1e-9)
    beyond = logs[-1] + slope * (scores - edges[-1])
    if length >= BOUNDED:
        found = np.where(scores > edges[-1], beyond, found)
    return np.where(scores < edges[0], 1.0, np.exp(found))

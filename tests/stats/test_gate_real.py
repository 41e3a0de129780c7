"""The gate over noise of real benchmarks: residuals of numpy's asv history."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from assay.stats import gate
from tests.stats.test_trend import points

SAMPLE = Path(__file__).parents[1] / "data" / "numpy_asv_sample.json.gz"
LIMIT = gate.Threshold(metric="step_time", share=0.03)
AROUND = 31  # points of the running median
SERIES, BEFORE = 60, 60


@pytest.fixture(scope="module")
def noise() -> list[np.ndarray]:
    with gzip.open(SAMPLE) as stream:
        histories = json.load(stream)
    residuals = []
    for each in histories:
        logs = np.log(each["seconds"])
        ends = np.pad(logs, AROUND // 2, mode="symmetric")
        windows = np.lib.stride_tricks.sliding_window_view(ends, AROUND)
        residuals.append(logs - np.median(windows, 1))
    return residuals


def suite(noise: list[np.ndarray], nights: int, seed: int) -> np.ndarray:
    """Shuffled: exchangeable noise with the distribution of real series."""
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(noise[n % len(noise)])[:nights] for n in range(SERIES)]
    return np.exp(np.array(rows))


def judgements(values: np.ndarray) -> list[str]:
    watches = [gate.Watch(points(row), LIMIT, "s", "here") for row in values]
    return gate.decide(watches, gate.judge(watches), 0.01)


def test_shuffled_real_series_have_no_regression(noise):
    nights = [judgements(suite(noise, BEFORE, seed)) for seed in range(5)]

    assert sum("regression" in night for night in nights) == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_doubled_real_series_is_a_regression_by_the_fifth_night(noise, seed):
    values = suite(noise, BEFORE + 5, seed)
    values[7, BEFORE:] *= 2

    assert judgements(values)[7] == "regression"

"""A change of all series of a machine at once is not one of each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from assay.core.series import Point
from assay.stats import gate

LIMIT = gate.Threshold(metric="step_time", share=0.03)
START = datetime(2026, 1, 1, 2, tzinfo=UTC)


def day(night: int) -> str:
    return (START + timedelta(days=night)).isoformat()


def watches(values: np.ndarray, unit: str = "s", limit=LIMIT) -> list[gate.Watch]:
    return [
        gate.Watch(
            [
                Point(
                    f"r{n}", (START + timedelta(days=n)).isoformat(), "", "", value, np.nan, np.nan
                )
                for n, value in enumerate(row)
                if not np.isnan(value)
            ],
            limit,
            unit,
            "m",
        )
        for row in values.tolist()
    ]


def suite(series: int = 20, nights: int = 40, seed: int = 3) -> np.ndarray:
    return np.exp(0.02 * np.random.default_rng(seed).standard_normal((series, nights)))


def judgements(series: list[gate.Watch]) -> list[str]:
    return gate.decide(series, gate.judge(series), 0.01)


@pytest.mark.parametrize("newest", [1, 3, 8])
def test_a_slower_machine_is_no_regression_of_its_series(newest):
    values = suite()
    values[:, -newest:] *= 1.2

    assert set(judgements(watches(values))) == {"fine"}
    (change,) = gate.machine_changes(watches(values))
    assert change.size == pytest.approx(1.2, abs=0.02)
    assert change.since == (START + timedelta(days=40 - newest)).date().isoformat()
    assert "20 series on m are slower by +" in change.text


def test_a_regression_is_seen_beside_a_slower_machine():
    values = suite()
    values[:, -3:] *= 1.2
    values[7, -3:] *= 1.5

    found = judgements(watches(values))

    assert [n for n, each in enumerate(found) if each == "regression"] == [7]


def test_rates_of_a_slower_machine_fall():
    values = suite()
    values[:, -3:] /= 1.2
    rate = gate.Threshold(metric="throughput", share=0.03)

    assert set(judgements(watches(values, "items/s", rate))) == {"fine"}
    assert len(gate.machine_changes(watches(values, "items/s", rate))) == 1


def test_weekends_are_not_reported_when_they_are_usual():
    values = suite(nights=41)
    days = np.arange(41)[::-1] % 7
    values[:, (days == 0) | (days == 6)] *= 1.1  # the last night is one of a weekend

    assert set(judgements(watches(values))) == {"fine"}
    assert gate.machine_changes(watches(values)) == []


def test_missing_nights_change_nothing():
    values = suite()
    values[np.random.default_rng(4).random(values.shape) < 0.3] = np.nan
    values[:, -12:-2] = np.nan

    assert set(judgements(watches(values))) == {"fine"}
    assert gate.machine_changes(watches(values)) == []


def test_few_series_have_nothing_in_common():
    values = suite(series=4)
    values[:, -3:] *= 1.5

    assert gate.machine_changes(watches(values)) == []
    assert set(judgements(watches(values))) == {"regression"}


def test_noise_is_no_change_of_the_machine():
    assert all(gate.machine_changes(watches(suite(seed=seed))) == [] for seed in range(20))

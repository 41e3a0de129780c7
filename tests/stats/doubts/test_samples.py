"""Each reason for doubt, on a result that gives it and on one that does not."""

from __future__ import annotations

import re

import numpy as np
import pytest

from assay.stats import estimates
from assay.stats.doubts.samples import DOUBTS, doubts
from tests.stats.test_summary import noisy, result, steady

SOUND = result(*(steady(noisy(spread=0.002, seed=at), process=at) for at in range(5)), processes=5)


def codes(found):
    return {doubt.code for doubt in doubts(found)}


def test_sound_result_is_not_doubted():
    assert codes(SOUND) == set()


@pytest.mark.parametrize(
    "code, doubted",
    [
        ("spread", result(steady(noisy(spread=0.3)))),
        ("few-samples", result(steady(noisy(count=4)))),
        ("one-process", result(steady(noisy()))),
        ("unusable", result(steady([*noisy(), -1.0, float("nan")]))),
        ("no-samples", result(steady([]))),
        ("drift", result(steady(noisy() * np.linspace(1, 1.5, 200)))),
        ("no-steady-state", result(steady(noisy(count=800) * np.repeat([1, 1.3, 1, 1.4], 200)))),
        ("two-modes", result(steady(noisy(count=300) * np.resize([1, 1.2, 1], 300)))),
        ("target-missed", result(steady(noisy(spread=0.1)), target=0.001)),
        ("few-for-percentiles", result(steady(noisy()), latency=True)),
    ],
)
def test_reason_for_doubt_is_said_with_its_remedy(code, doubted):
    found = {doubt.code: doubt for doubt in doubts(doubted)}
    assert code in found
    assert found[code].remedy


def test_drift_says_its_direction_and_size():
    slower = result(steady(noisy() * np.linspace(1, 1.5, 200)))
    faster = result(steady(noisy() * np.linspace(1.5, 1, 200)))
    texts = [next(d.text for d in doubts(r) if d.code == "drift") for r in (slower, faster)]
    assert "became 4" in texts[0] and "% slower" in texts[0]
    assert "became 2" in texts[1] and "% faster" in texts[1]


def test_a_large_drift_is_a_factor():
    values = noisy() * np.geomspace(1600, 1, 200)
    text = next(d.text for d in doubts(result(steady(values))) if d.code == "drift")

    assert "times faster" in text and "%" not in text


def test_far_modes_are_a_factor_apart():
    values = np.where(np.arange(200) % 2, 0.01, 0.194) * noisy()
    text = next(d.text for d in doubts(result(steady(values))) if d.code == "two-modes")

    assert "two groups 19.3 times apart" in text


def test_a_slow_change_that_is_not_over_is_told_in_either_direction():
    texts = []
    for sign in (1, -1):
        values = noisy(count=300) * (1 + sign * 0.03 * np.exp(-np.arange(300) / 150))
        found = result(steady(values[:150], phase="warmup"), steady(values[150:]))
        texts.append(next(d.text for d in doubts(found) if d.code == "drift"))
    assert "% faster" in texts[0]
    assert "% slower" in texts[1]


def test_one_broad_group_is_not_two():
    assert "two-modes" not in codes(result(steady(noisy(spread=0.1, count=1000))))


@pytest.mark.parametrize("count", [1, 2, 4, 13])
def test_few_samples_are_no_two_groups(count):
    found = codes(result(steady(noisy(count=count))))
    assert "few-samples" in found
    assert "two-modes" not in found


def test_outliers_are_not_a_group():
    values = noisy(count=400)
    values[::25] *= 3
    assert "two-modes" not in codes(result(steady(values)))


def test_exact_number_of_samples_misses_no_target():
    assert "target-missed" not in codes(result(steady(noisy(spread=0.2)), samples=200))


def test_remedy_for_a_missed_target_is_how_much_more_would_do():
    found = result(steady(noisy(spread=0.05)), target=0.005, budget=10.0)
    remedy = next(d.remedy for d in doubts(found) if d.code == "target-missed")
    assert remedy.startswith("Use --budget ")


def test_outside_doubts_can_be_added(monkeypatch):
    added = next(doubt for doubt in DOUBTS if doubt.__name__ == "one_process")
    monkeypatch.setattr("assay.stats.doubts.samples.DOUBTS", [added])
    assert codes(result(steady(noisy()))) == {"one-process"}


def test_an_interval_that_misses_the_target_by_a_hair_does_not_read_as_the_target():
    missing = result(steady(noisy(spread=0.1)))
    estimate = estimates.case_estimate(estimates.processes(missing))
    near = result(*missing.samples, target=estimate.half_width / estimate.value / 1.00001)

    text = next(doubt.text for doubt in doubts(near) if doubt.code == "target-missed")
    interval, target = re.findall(r"± (\S+) %", text)

    assert float(interval) > float(target)


def test_two_groups_that_differ_by_a_rounding_are_one():
    values = 0.01 * np.resize([1, 1 + 1e-10, 1], 300)

    assert "two-modes" not in codes(result(steady(values)))

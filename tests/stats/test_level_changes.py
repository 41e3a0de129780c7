"""Level changes of a series: swings and jumps are seen, noise and its correlation are not."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.stats.doubts.samples import doubts
from assay.stats.level_changes import level_spread
from tests.stats.test_summary import noisy, result, steady

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def drift():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return runpy.run_path(str(BENCHMARKS / "drift.py"))
    finally:
        sys.path.remove(str(BENCHMARKS))


def swing(count, periods, size):
    return 1 + size * np.sin(2 * np.pi * periods * np.arange(count) / count)


def test_the_size_of_a_swing_is_its_standard_deviation():
    values = noisy(spread=0.01, count=1000) * swing(1000, 1.5, 0.05)

    assert level_spread(values) == pytest.approx(0.05 / np.sqrt(2), rel=0.25)


def test_jumps_between_levels_are_seen():
    levels = np.repeat([1.0, 1.05, 1.0, 0.95, 1.05], 60)

    assert level_spread(noisy(spread=0.01, count=300) * levels) > 0.02


@pytest.mark.parametrize("count", [0, 1, 59])
def test_of_few_values_nothing_is_said(count):
    assert level_spread(np.linspace(1, 2, count)) == 0.0


def test_a_swing_too_small_to_matter_is_none():
    assert level_spread(noisy(spread=0.0005, count=2000) * swing(2000, 1, 0.003)) == 0.0


def test_equal_values_have_one_level():
    assert level_spread(np.full(200, 0.01)) == 0.0


def test_some_outliers_are_no_other_level():
    values = noisy(spread=0.01, count=400)
    values[50:56] *= 3

    assert level_spread(values) == 0.0


def test_the_doubt_has_its_size_and_a_remedy_and_comes_once():
    values = noisy(spread=0.01, count=1000) * swing(1000, 5, 0.03)

    found = {doubt.code: doubt for doubt in doubts(result(steady(values)))}

    assert "changed its level by 2" in found["level-changes"].text
    assert "assay ab" in found["level-changes"].remedy
    assert not {"drift", "no-steady-state"} & found.keys()


@pytest.mark.parametrize("number", range(4))
def test_stationary_runs_are_rarely_doubted(drift, number):
    kind = drift["KINDS"][number]

    _, doubted, _, _ = drift["rates"](kind, trials=25, seed=3)

    assert not kind.drifts and doubted <= 0.12


def test_runs_on_a_machine_that_swings_are_doubted(drift):
    kind = next(kind for kind in drift["KINDS"] if kind.name == "swing of 5 %, period 2 s")

    covered, doubted, _, _ = drift["rates"](kind, trials=12, seed=3)

    assert covered < 1 and doubted >= 0.5

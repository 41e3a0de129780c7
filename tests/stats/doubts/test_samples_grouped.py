"""What a median of means hides is said; where it hides nothing, nothing is."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from assay.stats.doubts.samples import hidden_by_averaging
from tests.stats.test_summary import result, steady

RANDOM = np.random.default_rng(0)
TWO_MODES = np.where(RANDOM.random(300) < 0.7, 0.004, 0.006)
NORMAL = 0.004 * (1 + 0.03 * RANDOM.standard_normal(300))


def run(singles, steps, wait=0.0):
    """Single steps while warming up, then samples of `steps` each, drawn from the same."""
    drawn = RANDOM.choice(singles, (50, steps)).mean(axis=1)
    grouped = msgspec.structs.replace(steady(drawn), steps=steps)
    return result(steady(singles + wait, phase="warmup"), grouped)


@pytest.mark.parametrize("wait", [0.0, 0.0002])
def test_two_modes_within_a_sample_are_said(wait):
    found = hidden_by_averaging(run(TWO_MODES, 13, wait))
    assert found.code == "hidden-by-means"
    assert "mean of 13 steps" in found.text
    assert "--latency" in found.remedy


def test_steps_that_are_alike_hide_nothing():
    assert hidden_by_averaging(run(NORMAL, 13)) is None


def test_samples_of_one_step_hide_nothing():
    assert hidden_by_averaging(run(TWO_MODES, 1)) is None


def test_a_wait_that_is_longer_than_the_differences_tells_nothing_of_them():
    assert hidden_by_averaging(run(TWO_MODES, 13, wait=0.004)) is None


def test_a_few_single_steps_cannot_tell():
    assert hidden_by_averaging(run(TWO_MODES[:20], 13)) is None


def test_a_result_without_samples_is_not_doubted():
    assert hidden_by_averaging(result(steady(TWO_MODES, phase="warmup"))) is None

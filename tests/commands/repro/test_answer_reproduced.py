"""How far a result and its repetition may lie apart, and when that is more than noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.commands.repro.answer import LEVEL, Deviation, deviation

NORMAL = np.random.default_rng(5)


def draws(count: int, spread: float, level: float = 1.0) -> list[float]:
    return list(level * np.exp(spread * NORMAL.standard_normal(count)))


@pytest.mark.parametrize("counts", [(1, 5), (5, 5), (1, 20)])
def test_equal_work_differs_as_often_as_the_level_says(counts):
    old, new = counts
    tried = 3000
    wrong = sum(deviation(draws(old, 0.05), [draws(new, 0.05)]).differs() for _ in range(tried))

    assert wrong / tried < LEVEL + 3 * math.sqrt(LEVEL / tried)


@pytest.mark.parametrize(
    ("more", "spread", "blocks", "least"),
    [(1.1, 0.01, 1, 0.9), (1.1, 0.015, 2, 0.9), (1.25, 0.03, 2, 0.9), (1.1, 0.2, 2, 0.0)],
)
def test_more_work_is_seen_where_processes_differ_by_less(more, spread, blocks, least):
    tried = 300
    found = [
        deviation(draws(1, spread), [draws(5, spread, more) for _ in range(blocks)])
        for _ in range(tried)
    ]

    assert sum(one.differs() for one in found) / tried >= least
    missed = sum(not one.low <= more <= one.high for one in found)
    assert missed / tried < 0.04  # 1 % is stated


def test_what_the_machine_moved_by_between_two_blocks_is_allowed_for():
    quiet = deviation([1.0], [[1.1, 1.101, 1.102], [1.1, 1.101, 1.102]])
    moving = deviation([1.0], [[1.03, 1.031, 1.032], [1.15, 1.151, 1.152]])

    assert quiet.differs() and not moving.differs()


def test_neighbours_in_the_series_tell_how_much_hours_differ():
    new = [[1.1, 1.101, 1.102, 1.1, 1.101]]
    steady = [1.0, 1.001, 0.999, 1.0, 1.001, 1.0, 1.3, 1.301, 1.3, 1.301]  # a shift is no noise
    moving = [1.0, 1.1, 0.95, 1.05, 0.97, 1.08, 1.0, 1.09, 0.96, 1.04]

    assert deviation([1.0], new, steady).differs()
    assert not deviation([1.0], new, moving).differs()
    assert deviation([1.0], new, moving[:9]).differs()  # of fewer, some may be of changed work


def test_one_process_a_side_does_not_tell_how_much_processes_differ():
    found = deviation([1.0], [[1.2]])

    assert not found.differs() and deviation([1.0], [[1.3]]).differs()
    assert math.isnan(found.spread)


@pytest.mark.parametrize(
    ("machine", "differs"),
    [(0.0, True), (-0.12, False), (-0.2, False), (0.12, True), (-0.05, True)],
)
def test_a_difference_in_which_the_machine_itself_shares_is_none(machine, differs):
    """The case may follow the machine's change wholly, in part or not at all."""
    faster = Deviation(0.88, 0.87, 0.89, 0.01, 5)

    assert faster.differs(machine) is differs
    assert faster.within == pytest.approx(0.13)

"""What a sum of moves lacks, where layers act on each other in a way that is known."""

from __future__ import annotations

import numpy as np
import pytest

from assay.native.tuner.interactions import Choice, Interactions, WholeChoice

DRAW = np.random.default_rng(0)
OWN = [DRAW.normal(size=(500, 10)).astype(np.float32) for _ in range(6)]
MOVES = [[np.float32(k * 0.2) * own for k in (0, 1, 2)] for own in OWN]
MIXED = DRAW.normal(size=(10, 10)) / 3


def lacking(choice: Choice) -> WholeChoice:
    """A quadratic form of the moves, as of a network whose layers follow each other."""
    total = sum(each[k] for each, k in zip(MOVES, choice, strict=True))
    alone = sum(each[k] ** 2 for each, k in zip(MOVES, choice, strict=True))
    return WholeChoice(choice, ((total**2 - alone) @ MIXED).astype(np.float32))


BOLD, MILD, OTHER = (2, 2, 2, 2, 2, 2), (1, 1, 1, 0, 2, 1), (2, 2, 1, 2, 0, 2)


def rms(values):
    return float(np.sqrt(np.mean((values - values.mean(1, keepdims=True)) ** 2)))


@pytest.mark.parametrize("known", [(BOLD,), (BOLD, MILD)])
def test_most_of_what_a_choice_lacks_is_told_by_others(known):
    found = Interactions(MOVES).with_choices([lacking(each) for each in known]).residual(OTHER)

    wanted = lacking(OTHER).residual
    missed = rms(found.delta - wanted)
    assert missed < 0.7 * rms(wanted)
    assert missed / 2 < found.spread < 2 * missed


def test_the_exact_network_lacks_nothing_and_that_is_sure():
    found = Interactions(MOVES).with_choices([lacking(BOLD)]).residual((0,) * 6)

    assert (rms(found.delta), found.spread) == (0, 0)


def test_what_was_computed_is_known():
    held = Interactions(MOVES).with_choices([lacking(BOLD), lacking(MILD)])

    found = held.residual(MILD)

    np.testing.assert_array_equal(found.delta, lacking(MILD).residual)
    assert found.spread == 0 and held.choices == (BOLD, MILD)


def test_without_a_choice_it_is_as_if_it_had_not_been_computed():
    held = Interactions(MOVES).with_choices([lacking(BOLD), lacking(MILD)])

    found = held.without_choice(MILD).residual(MILD)

    wanted = Interactions(MOVES).with_choices([lacking(BOLD)]).residual(MILD)
    np.testing.assert_array_equal(found.delta, wanted.delta)
    assert found.spread == wanted.spread > 0


def test_as_long_as_nothing_is_known_the_sum_stands():
    assert Interactions(MOVES).residual(BOLD) == (None, 0.0)

"""From results of pairs to a verdict."""

import math

import numpy as np
import pytest

from assay.core.findings import Quantity
from assay.core.records import Case, Procedure, Result, Samples
from assay.stats import paired_ratio
from assay.stats.paired_ratio import DecisionRule, PairRatio, decide

STEP = DecisionRule("step_time")


def pairs(*ratios, error=0.001, turns=10):
    return tuple(
        PairRatio(ratio=ratio, error=error, turns=turns, baseline="r/1", candidate="r/2")
        for ratio in ratios
    )


def result(*turns, items=1, order="in turns", status="ok", **more):
    parts = tuple(
        Samples(metric="step_time", unit="s", phase="steady", values=tuple(turn)) for turn in turns
    )
    first = Samples(metric="step_time", unit="s", phase="first", values=(7.0,))
    return Result(
        id="run/001",
        case=Case(workload="w", backend="b", key="w@b"),
        procedure=Procedure(),
        status=status,
        samples=(first, *parts),
        items=items,
        tags={"order": order},
        **more,
    )


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        (1.05, 1.02, 1.08, "slower"),
        (0.95, 0.92, 0.98, "faster"),
        (1.0, 0.995, 1.005, "same"),
        (1.004, 1.001, 1.007, "same"),  # surely not nothing, but less than the minimum
        (1.008, 1.002, 1.014, "cannot-tell"),  # may be less than the minimum, may be more
        (1.03, 0.99, 1.07, "cannot-tell"),
        (0.97, 0.93, 1.01, "cannot-tell"),
    ],
)
def test_a_change_is_clear_of_one_and_as_large_as_the_minimum(value, low, high, verdict):
    ratio = Quantity(value=value, low=low, high=high, unit="", estimator="", n=5)
    assert paired_ratio.verdict(ratio, STEP) == verdict


def test_a_higher_rate_is_faster():
    ratio = Quantity(value=1.05, low=1.02, high=1.08, unit="", estimator="", n=5)
    assert paired_ratio.verdict(ratio, DecisionRule("rate", higher_is_better=True)) == "faster"


def test_the_ratio_is_the_geometric_mean_over_pairs():
    found = decide(pairs(1.0, 1.21, 1.1), STEP)

    assert found.ratio.value == pytest.approx(1.1)
    assert found.ratio.n == 3
    assert found.spread == pytest.approx(math.log(1.1))


def test_three_pairs_that_agree_decide():
    assert decide(pairs(1.050, 1.051, 1.049), STEP).verdict == "slower"
    assert decide(pairs(0.950, 0.951, 0.949), STEP).verdict == "faster"
    assert decide(pairs(1.0, 1.0005, 0.9995), STEP).verdict == "same"


def test_pairs_that_disagree_cannot_tell():
    assert decide(pairs(1.10, 0.98, 1.07, 0.99), STEP).verdict == "cannot-tell"


@pytest.mark.parametrize(("ratio", "verdict"), [(1.2, "cannot-tell"), (1.4, "slower")])
def test_one_pair_decides_only_what_is_beyond_the_stated_process_noise(ratio, verdict):
    found = decide(pairs(ratio), STEP)

    assert found.verdict == verdict
    assert "process noise of 25 %" in found.ratio.estimator


def test_one_pair_never_says_same():
    assert decide(pairs(1.0, error=0.0), STEP).verdict == "cannot-tell"


def test_nothing_to_compare_cannot_tell():
    assert decide((), STEP).verdict == "cannot-tell"


def test_turns_are_compared_turn_by_turn():
    """The machine slowed down by half in the course of it; the ratio did not change."""
    slower = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
    baseline = result(*([value, value, 9.0] for value in slower))
    candidate = result(*([1.05 * value] * 3 for value in slower))

    found = paired_ratio.pair_ratio(baseline, candidate, "step_time")

    assert found.ratio == pytest.approx(1.05)
    assert found.error == pytest.approx(0.0, abs=1e-9)
    assert found.turns == 7


def test_results_that_were_not_in_turns_are_compared_by_their_medians():
    baseline = result([1.0, 2.0, 3.0], order="one after the other")
    candidate = result([5.0, 4.0, 6.0, 3.0], order="one after the other")

    found = paired_ratio.pair_ratio(baseline, candidate, "step_time")

    assert found.ratio == pytest.approx(math.sqrt(4 * 5) / 2)


def test_the_time_of_an_item_minds_the_batch():
    baseline, candidate = result([1.0], items=10), result([2.0], items=40)
    assert paired_ratio.pair_ratio(baseline, candidate, "item_time").ratio == pytest.approx(0.5)


@pytest.mark.parametrize("order", ["in turns", "one after the other"])
def test_the_fastest_step_is_what_other_programs_disturb_least(order):
    baseline = result([1.0, 3.0, 4.0], [1.0, 9.0, 9.0], order=order)
    candidate = result([2.0, 2.0, 2.0], [5.0, 2.0, 8.0], order=order)

    assert paired_ratio.pair_ratio(baseline, candidate, "min").ratio == pytest.approx(2)
    assert paired_ratio.pair_ratio(baseline, candidate, "step_time").ratio != pytest.approx(2)


def test_the_fastest_steps_of_a_pair_are_those_of_whole_processes():
    """Another program slowed down most of the turns, each by what it liked."""
    baseline = result([1.0, 1.4], [1.5, 1.6], [1.01, 1.3], [1.5, 1.5])
    candidate = result([1.6, 1.7], [1.05, 1.5], [1.6, 1.9], [1.06, 1.1])

    assert paired_ratio.pair_ratio(baseline, candidate, "min").ratio == pytest.approx(1.05)


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ([1.0, 1.005, 1.5, 1.009], True),
        ([1.0, 1.005, 1.5, 1.011], False),  # a third may yet come as near
        ([1.0, 1.0], False),
    ],
)
def test_a_fastest_step_counts_once_several_turns_came_near_to_it(turns, found):
    assert paired_ratio.has_fastest(turns, minimum=0.01) is found


@pytest.mark.parametrize(("metric", "value"), [("first_step", 7.0), ("peak_memory", 123.0)])
def test_what_is_told_once_can_be_compared(metric, value):
    found = paired_ratio.values(result([1.0], peaks={"peak_memory": 123.0}), metric)
    assert found.tolist() == [value]


def test_a_contender_that_failed_makes_no_pair():
    assert (
        paired_ratio.pair_ratio(result([1.0]), result([1.0], status="crashed"), "step_time") is None
    )
    assert paired_ratio.compare([result([1.0])], [result(status="timeout")], STEP).ratio.n == 0


def test_pairs_needed_are_fewer_for_a_larger_change():
    noise = np.array([0.98, 1.02, 1.0, 0.97, 1.03])
    large, small = (
        paired_ratio.required_pairs(decide(pairs(*(noise * ratio)), STEP)) for ratio in (1.1, 1.03)
    )
    assert 5 < large < small


def test_pairs_needed_is_zero_where_none_will_do():
    assert paired_ratio.required_pairs(decide(pairs(0.5, 2.0, 1.0, 1.02), STEP)) == 0


def test_a_dear_opening_is_worth_more_turns():
    assert paired_ratio.recommended_turns((), opening=1.0, turn=0.1) == 10
    assert paired_ratio.recommended_turns((), opening=6.0, turn=0.1) == 60


def test_where_pairs_differ_more_than_turns_do_few_turns_will_do():
    noisy_pairs = pairs(0.9, 1.0, 1.1, error=0.001)
    noisy_turns = pairs(*[0.999, 1.0, 1.001] * 3, error=0.02)

    assert paired_ratio.recommended_turns(noisy_pairs, 10.0, 0.2) == paired_ratio.MIN_TURNS
    assert paired_ratio.recommended_turns(noisy_turns, 10.0, 0.2) == paired_ratio.MAX_TURNS


def test_a_few_pairs_that_agree_do_not_make_the_next_one_long():
    """Seen: 11, 12, 13 and then 100 turns, so that a minute held four pairs instead of ten."""
    agreeing = pairs(0.999, 1.0, 1.001, error=0.02)
    assert paired_ratio.recommended_turns(agreeing, opening=2.6, turn=0.2) == 13


def test_the_optimum_is_that_of_two_stage_sampling():
    """Within 0.04² a turn, between about 0.02²: a ratio of spreads of 2, costs of 25 to 1."""
    known = pairs(math.exp(-0.02), 1.0, math.exp(0.02), error=0.04 / math.sqrt(1e6), turns=10**6)
    assert paired_ratio.recommended_turns(known, opening=5.0, turn=0.2) == 10


@pytest.mark.parametrize(("effect", "spread", "within"), [(1.05, 0.005, 6), (1.02, 0.005, 12)])
def test_a_change_is_found_in_most_trials_within_some_pairs(effect, spread, within):
    random = np.random.default_rng(7)
    found = 0
    for _ in range(300):
        ratios = effect * np.exp(spread * random.standard_normal(within))
        found += any(
            decide(pairs(*ratios[:n]), STEP).verdict == "slower" for n in range(3, within + 1)
        )
    assert found / 300 >= 0.95


def test_identical_contenders_are_rarely_called_different():
    random = np.random.default_rng(8)
    wrong = 0
    for _ in range(300):
        ratios = np.exp(0.03 * random.standard_normal(20))
        verdicts = {decide(pairs(*ratios[:n]), STEP).verdict for n in range(3, 21)}
        wrong += bool(verdicts & {"faster", "slower"})
    assert wrong / 300 <= 0.02 + 3 * math.sqrt(0.02 * 0.98 / 300)

"""From heats to a ranking, by made results and by simulated races."""

import math

import numpy as np
import pytest

from assay.commands.race import ranking
from assay.core.records import Case, Procedure, Result, Samples

RULES = ranking.decision_rule(4, 0.02)


def result(name, turns, items=1, status="ok", reason=""):
    parts = tuple(
        Samples(metric="step_time", unit="s", phase="steady", values=(value,)) for value in turns
    )
    return Result(
        id=f"run/{name}",
        case=Case(workload=name, backend="b", key=name),
        procedure=Procedure(),
        status=status,
        reason=reason,
        samples=parts,
        items=items,
        tags={"order": "in turns"},
    )


def heat(noise=0.0, seed=0, pace=1.0, more=None, **times):
    """A heat of five turns in which each contender's process has a level of its own."""
    random = np.random.default_rng(seed)
    found = {
        name: result(name, [pace * time * math.exp(noise * random.standard_normal())] * 5)
        for name, time in times.items()
    }
    return ranking.summarize_heat(found | (more or {}))


def states(places):
    return {place.key: place.state for place in places}


def test_one_heat_drops_those_slower_beyond_the_process_noise():
    places = ranking.rank("abc", [heat(a=1.0, b=1.1, c=2.0)], {}, RULES)

    assert [place.key for place in places] == ["a", "b", "c"]
    assert states(places) == {"a": "in", "b": "in", "c": "out"}
    assert places[2].reason == "slower than a"


def test_the_ranking_is_by_the_ratio_that_is_shown():
    """In the heat of c, the leader was slow by chance: what c seems by way of b is more."""
    heats = [heat(a=1.0, b=1.2)] * 3
    heats += [heat(a=1.0, b=1.2, d=21.0), heat(a=1.3, b=1.2, c=26.0)]
    places = ranking.rank("abcd", heats, {}, RULES)

    assert [place.key for place in places] == ["a", "b", "c", "d"]
    assert [place.ratio.value for place in places[2:]] == pytest.approx([20.0, 21.0])
    assert places[3].time == pytest.approx(21.0 * places[0].time)


def test_three_heats_drop_those_that_are_surely_slower():
    heats = [heat(0.002, seed, a=1.0, b=1.1) for seed in range(4)]
    assert states(ranking.rank("ab", heats, {}, RULES)) == {"a": "in", "b": "out"}


def test_who_is_as_good_is_in_and_no_longer_in_doubt():
    heats = [heat(0.001, seed, a=1.0, b=1.001) for seed in range(5)]
    places = ranking.rank("ab", heats, {}, RULES)

    assert states(places) == {"a": "in", "b": "in"}
    assert ranking.undecided_contenders(places, heats, RULES) == []


def test_who_met_the_leader_least_often_is_first_in_doubt():
    heats = [heat(a=1.0, b=1.05, c=1.04), heat(a=1.0, b=1.05)]
    places = ranking.rank("abc", heats, {}, RULES)
    assert ranking.undecided_contenders(places, heats, RULES) == ["c", "b"]


def test_time_is_that_of_an_item():
    small, large = result("small", [1.0] * 5, items=1), result("large", [4.0] * 5, items=8)
    met = ranking.summarize_heat({"small": small, "large": large})
    places = ranking.rank(["small", "large"], [met], {}, RULES)
    assert [place.key for place in places] == ["large", "small"]


def test_the_pace_of_a_heat_is_taken_out():
    """The second heat was three times slower for everybody."""
    heats = [heat(a=1.0, b=2.0), heat(pace=3.0, a=1.0, c=1.5)]

    found = ranking.relative_times(heats)

    assert math.exp(found["c"] - found["a"]) == pytest.approx(1.5)
    assert math.exp(found["b"] - found["c"]) == pytest.approx(2.0 / 1.5)


def test_who_failed_or_is_wrong_or_has_not_run_is_listed_last():
    one = heat(a=1.0, b=0.5, more={"c": result("c", [], status="crashed", reason="it fell")})
    places = ranking.rank("abcd", [one], {"b": "outputs differ"}, RULES)

    assert states(places) == {"a": "in", "b": "wrong", "c": "failed", "d": "untried"}
    assert places[2].reason == "crashed: it fell"


def test_the_level_is_shared_among_the_contenders():
    assert ranking.decision_rule(11, 0.02).level == pytest.approx(
        ranking.decision_rule(2, 0.02).level / 10
    )


def raced(times, noise, seed):
    """A whole race of four at a time: its last standing, and how many processes it took."""
    random, rules, heats = np.random.default_rng(seed), ranking.decision_rule(len(times), 0.02), []
    places = ranking.rank(list(times), heats, {}, rules)
    while names := ranking.next_heat(places, heats, rules, warm=4):
        chosen = {name: times[name] for name in names}
        heats.append(heat(noise, int(random.integers(1 << 30)), **chosen))
        places = ranking.rank(list(times), heats, {}, rules)
    return places, sum(len(one.logs) for one in heats)


def test_simulated_races_end_with_the_best_or_one_as_good():
    """Twelve contenders, four of them within 5 %; processes differ by 1 % from heat to heat."""
    slower = [1.03, 1.2, 1.5, 1.05, 2.0, 1.3, 1.0, 3.0, 1.01, 1.4, 2.5, 1.8]
    times = {f"c{number:02d}": time for number, time in enumerate(slower)}

    found = [raced(times, 0.01, seed) for seed in range(20)]

    winners = [times[places[0].key] for places, _ in found]
    assert sum(winner <= 1.02 for winner in winners) >= 18
    assert all(place.state == "out" for places, _ in found for place in places[8:])

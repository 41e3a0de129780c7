"""A race as it goes on: who has run, who runs next, whether it is decided. No process, no clock."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest

from assay.commands.race import ranking
from assay.commands.race import state as race_state
from assay.commands.race.state import MAX_TURNS, MIN_TURNS, RaceState, needs_turns
from assay.core.messages import OutputValues
from assay.core.records import Case, Plan, Procedure, Samples
from assay.measure.case import OUT_OF_TIME
from assay.measure.heat import OUT_OF_MEMORY_REASON, Heat
from assay.testing import FakeClock
from tests.commands.race.test_ranking import result


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    fake = FakeClock()
    monkeypatch.setattr(race_state, "time", SimpleNamespace(monotonic=fake))
    return fake


def planned(names="abc", budget=60.0):
    cases = tuple(Case(workload="w", backend=name, key=name) for name in names)
    return Plan(cases=cases, procedure=Procedure(budget=budget, target=0.02), verb="race")


def begun(names="abc", heats=(), wrong=None, budget=60.0):
    return RaceState(planned(names, budget), "run", heats, wrong or {})


def heat(apart=(), outputs=None, **found):
    """A heat in which each took so many seconds for a step, or ended as its status says."""
    results = {
        name: result(name, [how] * 5) if isinstance(how, float) else result(name, [], status=how)
        for name, how in found.items()
    }
    return Heat(results, outputs or {}, 1.0, dict.fromkeys(apart, OUT_OF_MEMORY_REASON))


def states(state):
    return {place.key: place.state for place in state.ranking().places}


def test_before_the_first_heat_nobody_leads_and_all_are_to_run():
    state = begun()

    assert state.ranking().ended == state.ranking().command == ""
    assert states(state) == dict.fromkeys("abc", "untried")
    assert state.next_heat() == ["a", "b", "c"]


def test_the_leader_meets_those_who_have_not_run_yet():
    state = begun("abcd")

    state.add(heat(a=2.0, b=1.0))

    assert state.next_heat()[:3] == ["b", "c", "d"]


def test_when_one_is_left_the_race_is_decided_and_told_how_to_run_it_again():
    state = begun()
    state.add(heat(a=1.0, b=2.0, c="failed"))

    found = state.ranking()

    assert found.ended == "decided: one is left"
    assert found.command == "assay run 'a'"
    assert (found.heats, found.run, states(state)["c"]) == (1, "run", "failed")


def test_those_who_are_as_good_end_it_together():
    state = begun("ab")

    for pace in (1.0, 1.001, 0.999, 1.0, 1.0):
        state.add(heat(a=1.0, b=pace))

    assert state.ranking().ended == "decided: 2 are equally good"


def test_where_none_ran_well_the_race_stops():
    state = begun("ab")

    state.add(heat(a="failed", b="crashed"))

    assert state.ranking().ended == "stopped: none of them ran well"
    assert state.ranking().command == ""


def test_who_was_interrupted_is_handed_on_to_be_kept_but_does_not_count():
    state = begun("ab")

    kept = state.add(heat(a="interrupted", b="interrupted"))

    assert [one.status for one in kept.values()] == ["interrupted", "interrupted"]
    assert states(state) == {"a": "untried", "b": "untried"}


@pytest.mark.parametrize(
    ("ran", "apart", "counted", "warm"),
    [
        ({"a": 1.0, "b": 1.0, "c": 1.0, "d": "skipped"}, "d", "abc", 3),
        ({"a": 1.0, "b": "skipped", "c": "skipped"}, "bc", "a", 2),
        ({"a": 1.0, "b": "skipped"}, "b", "ab", 4),
    ],
)
def test_who_found_no_room_beside_several_has_another_try_among_fewer(
    ran, apart, counted, warm, monkeypatch
):
    monkeypatch.setattr(race_state, "MAX_OPEN_CASES", 4)
    state = begun("abcd")

    kept = state.add(heat(apart=apart, **ran))

    assert "".join(kept) == counted
    assert state.warm == warm


def test_wrong_outputs_cost_the_place_and_are_remembered_after_an_interrupt():
    outputs = {
        name: OutputValues(shape=(1,), values=(value,))
        for name, value in {"a": 1.0, "b": 1.0, "c": 1.0, "d": 9.0}.items()
    }
    state = begun("abcde", wrong={"e": "differs by 9"})

    state.add(heat(outputs=outputs, a=2.0, b=2.0, c=2.0, d=1.0, e=0.5))

    assert states(state)["d"] == states(state)["e"] == "wrong"
    assert state.ranking().places[0].key in "abc"


@pytest.mark.parametrize(
    ("each", "ended"),
    [
        (29.0, ""),
        (31.0, "budget of 60 s used up; 1 contender left, 1 not tried"),
    ],
)
def test_a_heat_that_would_outlast_the_budget_is_not_begun(clock, each, ended):
    state = begun()
    clock.advance(each)

    state.add(heat(a=1.0, b=2.0))

    assert state.ranking().ended == ended


def test_the_first_two_of_a_session_may_be_a_tenth_of_the_budget_late(clock):
    state = begun(budget=60.0)
    first = state.deadlines(3)
    clock.advance(10.0)
    state.add(heat(a=1.0, b=2.0))

    assert first == [pytest.approx(66.0), pytest.approx(66.0), pytest.approx(57.0)]
    assert state.deadlines(2) == [pytest.approx(58.0)] * 2


def test_who_was_not_warm_in_time_counts_as_untried(clock):
    late = msgspec.structs.replace(result("c", [], status="skipped"), reason=OUT_OF_TIME)
    found = heat(a=1.0, b=2.0)
    state = begun()
    clock.advance(60.0)

    kept = state.add(found._replace(results={**found.results, "c": late}))

    assert kept.keys() == {"a", "b"}
    assert states(state)["c"] == "untried"
    assert state.ranking().ended == "budget of 60 s used up; 1 contender left, 1 not tried"


def test_a_race_in_which_not_even_two_were_warm_says_what_to_try(clock):
    late = {
        name: msgspec.structs.replace(result(name, [], status="skipped"), reason=OUT_OF_TIME)
        for name in "ab"
    }
    state = begun()
    clock.advance(66.0)

    state.add(Heat(results=late))

    assert state.ranking().ended == (
        "budget of 60 s used up; 0 contenders left, 3 not tried; "
        "not even two were warm by then: try --budget 198s"
    )


def test_a_round_of_long_steps_that_would_outlast_the_limit_is_not_begun(clock):
    running = Heat(turns=turns(2, a=(9.0,), b=(9.0,)), spent=36.0)
    clock.advance(50.0)

    rules = ranking.decision_rule(2, 0.02)
    assert not needs_turns(running, rules, deadline=60.0, limit=66.0)
    assert needs_turns(running, rules, deadline=60.0, limit=90.0)


def test_a_race_taken_up_again_has_its_budget_once_more(clock):
    clock.advance(1000.0)

    state = begun(heats=[heat(a=1.0, b=2.0).results])

    assert state.ranking().ended == ""
    assert state.ranking().heats == 1
    assert state.next_heat() == ["a", "c"]


def turns(count, **seconds):
    """So many turns of each, of one step; a pair of numbers alternates."""
    return {
        name: [
            Samples(metric="step_time", unit="s", phase="steady", values=(both[at % len(both)],))
            for at in range(count)
        ]
        for name, both in seconds.items()
    }


QUIET = {"a": (0.001,), "b": (0.001,)}
FAR = {"a": (0.001, 0.0011), "b": (0.009,)}
NOISY = {"a": (0.001,), "b": (0.001, 0.0012)}


@pytest.mark.parametrize(
    ("taken", "opening", "now", "more"),
    [
        (turns(MIN_TURNS - 1, **QUIET), 0.0, 100.0, True),  # too few, whatever else
        (turns(MIN_TURNS, **QUIET), 10.0, 0.0, False),  # known well
        (turns(MIN_TURNS, **FAR), 10.0, 0.0, False),  # far off
        (turns(MIN_TURNS, **NOISY), 10.0, 0.0, True),  # in doubt
        (turns(MIN_TURNS, **NOISY), 0.01, 0.0, False),  # turns took as long as opening
        (turns(MIN_TURNS, **NOISY), 10.0, 51.0, False),  # past the deadline
        (turns(MAX_TURNS, **NOISY), 10.0, 0.0, False),
    ],
)
def test_a_heat_goes_on_while_somebody_in_it_is_in_doubt(clock, taken, opening, now, more):
    clock.advance(now)
    spent = sum(sum(part.values) * part.steps for each in taken.values() for part in each)

    assert (
        needs_turns(
            Heat(turns=taken, opening=opening, spent=spent), ranking.decision_rule(2, 0.02), 50.0
        )
        is more
    )

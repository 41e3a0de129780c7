"""One pair of fresh processes: warm together where that is possible, else one after the other."""

from __future__ import annotations

import time
from types import SimpleNamespace

import msgspec
import pytest

from assay.commands.ab import pairs as engine
from assay.commands.ab.pairs import (
    COMMANDS,
    FASTEST_TURNS,
    NOT_INTERLEAVED,
    NOT_RUN_REASON,
    SIDES,
    PairContext,
    PairSpec,
    needs_turns,
    take_pair,
)
from assay.core.progress import ignore
from assay.core.records import Plan, Procedure, Samples
from assay.measure import contenders
from assay.measure.case import OUT_OF_TIME
from assay.measure.heat import OUT_OF_MEMORY_REASON, Heat
from assay.measure.recorder import new_run
from assay.stats.paired_ratio import INTERLEAVED, MAX_TURNS, MIN_TURNS
from assay.testing import FakeClock

QUICK = Procedure(budget=0.2, timeout=20)


def of_commands(*commands):
    return contenders.pair_from_commands(commands, ("wall_time", ""), 20.0)


def of_cases(endings, first, second):
    texts = [f"{endings}:{name}@python" for name in (first, second)]
    return contenders.pair_from_cases(texts, (), ())


@pytest.fixture
def setting(home, monkeypatch):
    """Of pairs that end after the fewest turns: their deadline is over, and the clock stands."""
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=FakeClock()))
    cases = tuple(one.case for one in of_commands("true", "true"))
    with new_run(Plan(cases=cases, verb="ab"), home) as run:
        context = PairContext(run.plan, QUICK, 0.01, -1.0)
        yield context, run.new_case, ignore


def tags(found):
    return [(one.tags["pair"], one.tags["contender"], one.tags["order"]) for one in found.results]


def test_two_cases_are_warm_together_and_take_turns(setting, endings):
    found = take_pair(PairSpec(of_cases(endings, "fine", "fine:size=9"), 4), *setting)

    turns = [sum(part.phase == "steady" for part in one.samples) for one in found.results]
    assert found.not_interleaved == ""
    assert tags(found) == [("4", "baseline", INTERLEAVED), ("4", "candidate", INTERLEAVED)]
    assert turns == [MIN_TURNS, MIN_TURNS]


def test_who_does_not_fit_beside_the_other_is_measured_apart(setting, endings):
    found = take_pair(PairSpec(of_cases(endings, "fine", "has_no_memory"), 1), *setting)

    assert found.not_interleaved == OUT_OF_MEMORY_REASON
    assert found.results[1].status == "out-of-memory"
    assert tags(found) == [("1", "baseline", NOT_INTERLEAVED), ("1", "candidate", NOT_INTERLEAVED)]


def test_pairs_that_were_apart_before_are_so_at_once(setting, endings, monkeypatch):
    monkeypatch.setattr(engine, "run_heat", None)

    found = take_pair(
        PairSpec(of_cases(endings, "fine", "fine:size=9"), 2, not_interleaved=OUT_OF_MEMORY_REASON),
        *setting,
    )

    assert [one.status for one in found.results] == ["ok", "ok"]
    assert found.not_interleaved == OUT_OF_MEMORY_REASON


def test_short_commands_take_turns_that_are_joined(setting):
    found = take_pair(PairSpec(of_commands("true", "true"), 1), *setting)

    assert found.not_interleaved == COMMANDS
    assert tags(found)[0] == ("1", "baseline", INTERLEAVED)
    for result in found.results:
        assert len(result.values("wall_time")) == engine.COMMAND_TURNS
        assert result.seconds == pytest.approx(sum(result.values("wall_time")), rel=0.01)


def test_long_commands_have_one_turn(setting, monkeypatch):
    clock = FakeClock(cost=engine.SHORT_SECONDS + 1)
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=clock))

    found = take_pair(PairSpec(of_commands("true", "true"), 1), *setting)

    assert [len(one.values("wall_time")) for one in found.results] == [1, 1]
    assert tags(found)[0] == ("1", "baseline", NOT_INTERLEAVED)


def test_a_command_that_outlasts_the_limit_is_ended_and_is_no_failure(setting):
    context, *others = setting
    limited = context._replace(limit=1.0)

    found = take_pair(PairSpec(of_commands("sleep 19", "sleep 18"), 1), limited, *others)

    assert {one.status for one in found.results} == {"skipped"}
    assert OUT_OF_TIME in {one.reason for one in found.results}
    assert sum(one.seconds for one in found.results) < 18


def test_cases_that_are_not_warm_by_the_limit_are_ended(setting, endings):
    context, *others = setting

    found = take_pair(
        PairSpec(of_cases(endings, "fine", "hangs"), 1),
        context._replace(limit=time.monotonic() + 4.0),
        *others,
    )

    assert found.results[1].reason == OUT_OF_TIME


def test_who_comes_first_is_drawn_by_the_number_of_the_pair(setting, tmp_path):
    log = tmp_path / "log"
    pair = of_commands(*(f"sh -c 'echo {name} >> {log}'" for name in "ab"))

    for number in range(1, 9):
        take_pair(PairSpec(pair, number), *setting)

    turns = log.read_text().split()
    firsts = turns[:: 2 * engine.COMMAND_TURNS]
    assert sorted(turns) == ["a"] * (len(turns) // 2) + ["b"] * (len(turns) // 2)
    assert set(firsts) == {"a", "b"}


def test_the_other_is_not_run_where_the_first_did_not_end_well(setting):
    found = take_pair(PairSpec(of_commands("false", "false"), 1), *setting)

    endings = {one.status: one.reason for one in found.results}
    assert endings.keys() == {"failed", "skipped"}
    assert endings["skipped"] == NOT_RUN_REASON
    assert found.results[0].id != found.results[1].id


def turns(count, *candidate):
    """So many turns; the baseline is always as fast."""
    sides = {"baseline": (0.01,), "candidate": candidate}
    return {
        side: [
            Samples(metric="step_time", unit="s", phase="steady", values=(both[at % len(both)],))
            for at in range(count)
        ]
        for side, both in sides.items()
    }


def spent(taken) -> float:
    return sum(sum(part.values) * part.steps for side in taken.values() for part in side)


@pytest.mark.parametrize(
    ("taken", "opening", "now", "more"),
    [
        (turns(MIN_TURNS - 1, 0.01), 0.0, 99.0, True),  # too few, whatever else
        (turns(MIN_TURNS, 0.01), 100.0, 0.0, False),  # known well
        (turns(MIN_TURNS, 0.01, 0.02), 100.0, 0.0, True),  # in doubt
        (turns(MIN_TURNS, 0.01, 0.02), 100.0, 99.0, False),  # past the deadline
        (turns(MIN_TURNS, 0.01, 0.02), 0.1, 0.0, False),  # another pair is as cheap
        (turns(MAX_TURNS, 0.01, 0.02), 100.0, 0.0, False),
    ],
)
def test_a_pair_has_more_turns_while_they_pay_off(monkeypatch, taken, opening, now, more):
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: now))
    context = PairContext(None, QUICK, min_effect=0.01, deadline=50.0)
    heat = Heat(turns=taken, opening=opening, spent=spent(taken))

    assert needs_turns(heat, context, known=[]) is more


@pytest.mark.parametrize(
    ("taken", "now", "more"),
    [
        (turns(MIN_TURNS, 0.01), 0.0, False),  # the fastest was met again and again
        (turns(MIN_TURNS, *(0.01 * 1.1**n for n in range(MIN_TURNS))), 0.0, True),
        (turns(MIN_TURNS, *(0.01 * 1.1**n for n in range(MIN_TURNS))), 99.0, False),
        (turns(FASTEST_TURNS, *(0.01 * 1.1**n for n in range(FASTEST_TURNS))), 0.0, False),
    ],
)
def test_a_pair_has_turns_until_the_fastest_steps_are_found(monkeypatch, taken, now, more):
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: now))
    procedure = msgspec.structs.replace(QUICK, metric="min")
    context = PairContext(None, procedure, min_effect=0.01, deadline=50.0)
    heat = Heat(turns=taken, opening=100.0, spent=spent(taken))

    assert needs_turns(heat, context, known=[]) is more


def test_what_a_pair_showed_is_not_found_out_again(endings, setting):
    pair = of_cases(endings, "fine", "fine:size=9")
    first = take_pair(PairSpec(pair, 1), *setting)

    earlier = dict(zip(SIDES, first.results, strict=True))
    again = take_pair(PairSpec(pair, 2, earlier=earlier), *setting)

    for before, after in zip(first.results, again.results, strict=True):
        steps = [
            {part.steps for part in one.samples if part.phase == "steady"}
            for one in (before, after)
        ]
        assert steps[0] == steps[1] and after.facts == before.facts
    assert not again.outputs

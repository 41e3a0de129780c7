"""A comparison as it grows: what is noted beside it, and why it ends. No process, no clock."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from assay.commands.ab import state as comparison_state
from assay.commands.ab.pairs import NOT_RUN_REASON, SIDES, PairResults
from assay.commands.ab.state import AbRequest, AbState, stop_reason
from assay.core.errors import UsageError
from assay.core.messages import OutputValues
from assay.core.records import Case, Procedure, Result, Samples
from assay.measure.case import OUT_OF_TIME
from assay.measure.contenders import Contender
from assay.stats.paired_ratio import DecisionRule
from assay.testing import FakeClock


def contender(name="a", **params):
    return Contender(name=name, case=Case(workload="w", backend=name, params=params, key=name))


def requested(pair=None, **fields):
    pair = pair or (contender("a"), contender("b"))
    return AbRequest(**{"pair": pair, "terms": DecisionRule("step_time"), **fields})


def result(seconds=1.0, status="ok", reason="", **fields):
    part = Samples(metric="step_time", unit="s", phase="steady", values=(seconds,))
    values = {"id": "run/001", "case": contender().case, "procedure": Procedure(), "items": 1}
    return Result(**values | {"status": status, "reason": reason, "samples": (part,)} | fields)


def pair(ratio=1.0, one=None, other=None, outputs=None, apart=""):
    return PairResults((one or result(), other or result(ratio)), outputs or {}, apart)


@pytest.fixture
def clock(monkeypatch):
    fake = FakeClock()
    monkeypatch.setattr(comparison_state, "time", SimpleNamespace(monotonic=fake))
    return fake


def grown(request, *pairs, clock=None, each=1.0):
    """The state after these pairs, each of which took so many seconds."""
    state = AbState(request, "run")
    for one in pairs:
        if clock:
            clock.advance(each)
        state.add(one)
    return state


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"budget": 0.0}, "budget is 0, but has to be more than 0 s."),
        ({"timeout": -1.0}, "timeout is -1, but has to be more than 0 s."),
        ({"pairs": 0}, "pairs is 0, but has to be 1 or more."),
        (
            {"terms": DecisionRule("", minimum=0.0)},
            "The smallest effect is 0, but has to be between 0",
        ),
        (
            {"terms": DecisionRule("", minimum=1.0)},
            "The smallest effect is 1, but has to be between 0",
        ),
    ],
)
def test_limits_that_make_no_sense_are_refused(wrong, sentence):
    with pytest.raises(UsageError) as refused:
        requested(**wrong)

    assert str(refused.value).startswith(sentence)
    assert refused.value.hint.endswith("default.") or "defaults" in refused.value.hint


@pytest.mark.parametrize(("budget", "warm"), [(300.0, 5.0), (30.0, 5.0), (6.0, 1.0)])
def test_one_process_gets_a_sixth_of_the_budget_and_no_more_than_it_needs(budget, warm):
    assert requested(budget=budget).procedure.budget == warm


@pytest.mark.parametrize(("items", "metric"), [((8, 8), "step_time"), ((8, 16), "item_time")])
def test_where_no_metric_is_named_the_first_pair_chooses(items, metric):
    one, other = (result(items=count) for count in items)

    state = grown(requested(terms=DecisionRule("")), pair(one=one, other=other))

    assert state.comparison().metric == metric


def test_who_ends_badly_is_a_failure_and_who_was_not_run_a_note():
    bad, skipped = result(status="crashed", reason="SIGSEGV"), result(status="skipped")

    state = grown(
        requested(),
        pair(one=result(status="skipped", reason=NOT_RUN_REASON), other=bad),
        pair(one=skipped, other=result(status="interrupted", reason="by Ctrl-C")),
    )

    assert state.notes == ["the baseline was not run"]
    assert state.failures == [
        "the candidate ended as crashed: SIGSEGV",
        "the baseline ended as skipped: ",
    ]


def test_why_they_alternate_by_process_is_noted_once_and_only_of_pairs_that_ended_well():
    failed = pair(other=result(status="failed"), apart="no room")

    state = grown(requested(), failed, pair(apart="no room"), pair(apart="no room"))

    assert state.not_interleaved == "no room"
    assert state.notes == ["they alternate by process, not by step: no room"]


SAME, OTHER = (OutputValues(shape=(2,), values=values) for values in ((1.0, 2.0), (1.0, 3.0)))


@pytest.mark.parametrize(
    ("outputs", "params", "asked", "failures", "notes"),
    [
        ((SAME, SAME), ({}, {}), True, 0, 0),
        ((SAME, OTHER), ({}, {}), True, 1, 0),
        ((SAME, OTHER), ({}, {}), False, 0, 0),
        ((SAME, OTHER), ({"size": 1}, {"size": 2}), True, 0, 1),
        ((SAME,), ({}, {}), True, 0, 0),
    ],
)
def test_outputs_have_to_agree_where_the_work_is_the_same(outputs, params, asked, failures, notes):
    contenders = tuple(contender(name, **given) for name, given in zip("ab", params, strict=True))
    given = dict(zip(SIDES, outputs, strict=False))

    state = grown(requested(contenders, outputs=asked), pair(outputs=given))

    assert [text.partition(":")[0] for text in state.failures] == ["WRONG OUTPUTS"] * failures
    assert state.notes == ["outputs were not compared: the workloads differ"] * notes


def test_what_is_known_names_both_and_the_run():
    found = grown(requested(), pair(1.5)).comparison()

    assert (found.baseline, found.candidate, found.run) == ("a", "b", "run")
    assert found.ratio.value == pytest.approx(1.5)


NOISY = [pair(ratio) for ratio in (0.9, 1.1, 0.9)]
QUIET = [pair(ratio) for ratio in (1.50, 1.51, 1.49)]
UNTOLD = pair(one=result(samples=()), other=result(samples=()))


UNDECIDED = (
    "undecided: budget of {} s used up after 1 pair, too few to know the noise between "
    "processes (3 are needed); about 5 would decide: --budget 7s"
)


@pytest.mark.parametrize(
    ("pairs", "limits", "words"),
    [
        (NOISY, {}, ""),
        (QUIET[:2], {}, ""),
        (NOISY[:1], {"budget": 1.6}, ""),  # the second opens in half the time
        (NOISY[:1], {"budget": 1.6, "cold": True}, UNDECIDED.format("1.60")),
        (QUIET, {}, "decided after 3 pairs"),
        (QUIET[:1], {"pairs": 1}, "decided after 1 pair"),
        (NOISY, {"pairs": 3}, "undecided after 3 pairs, the maximum"),
        ([UNTOLD], {}, "stopped, because not both reported step_time"),
        ([pair(other=result(status="failed"))], {}, "stopped, because a contender failed"),
        (
            [*QUIET, pair(one=result(status="failed"), other=result(status="interrupted"))],
            {},
            "interrupted by the user after 3 pairs",
        ),
        (
            NOISY,
            {"budget": 3.5},
            "undecided: budget of 3.50 s used up after 3 pairs; "
            "60 pairs would probably not decide it",
        ),
        (
            NOISY[:1],
            {"budget": 1.4},
            UNDECIDED.format("1.40"),
        ),
        (
            QUIET[:2],
            {"budget": 2.5},
            "budget of 2.50 s used up after 2 pairs, too few to know the noise between processes "
            "(3 are needed); the change is large enough to decide anyway",
        ),
    ],
)
def test_it_ends_in_words_that_say_why(clock, pairs, limits, words):
    request = requested(**limits)
    state = grown(request, *pairs, clock=clock)

    assert stop_reason(request, state.comparison(), state) == words


LATE = result(status="skipped", reason=OUT_OF_TIME)


def test_a_first_pair_that_outlasts_the_budget_is_no_failure_and_says_what_to_try(clock):
    request = requested(budget=50.0)
    state = grown(request, pair(one=LATE, other=LATE), clock=clock, each=55.0)

    assert state.pairs == 0 and not state.failures and not state.notes
    assert stop_reason(request, state.comparison(), state) == (
        "undecided: budget of 50.0 s used up before the first pair was measured; try --budget 551s"
    )


def test_a_later_pair_that_outlasts_the_budget_does_not_count(clock):
    request = requested(budget=3.5)
    state = grown(request, *NOISY, pair(other=LATE), clock=clock)

    assert state.pairs == 3 and not state.failures
    assert stop_reason(request, state.comparison(), state).startswith(
        "undecided: budget of 3.50 s used up after 3 pairs"
    )


@pytest.mark.parametrize(("budget", "limit"), [(1.0, 6.0), (50.0, 55.0), (600.0, 660.0)])
def test_a_pair_is_ended_a_tenth_after_the_budget_or_5_s(clock, budget, limit):
    assert AbState(requested(budget=budget), "run").limit == pytest.approx(limit)

"""A pair and a heat elsewhere: sent whole, to one machine, with times its clock understands."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.commands.ab import loop
from assay.commands.race import api as race
from assay.commands.race.ranking import decision_rule
from assay.commands.race.state import HeatContext, _shift_deadlines
from assay.core.errors import NotPossibleError, UsageError
from assay.core.executor import CaseDir, NodeLost
from assay.core.records import Case, Plan, Procedure
from assay.measure import remote
from assay.measure.case import HeatEntry
from tests.measure.test_remote import InPlace


@pytest.fixture
def in_place(monkeypatch):
    """`--on` leads to this machine, by way of what could be sent."""
    import contextlib

    for module in (remote, loop, race):
        monkeypatch.setattr(module, "executor", lambda *_: contextlib.nullcontext(InPlace()))


def test_a_comparison_of_cases_has_its_pairs_there(endings, home, in_place):
    *_, found = assay.ab(
        f"{endings}:fine:size=10@python",
        f"{endings}:fine:size=100000@python",
        budget="20s",
        pairs=2,
        on="ray://there",
        store=home,
    )

    assert found.verdict == "slower"
    assert len(found.pairs) == 2


def test_a_race_has_its_heats_there(endings, home, in_place):
    over = {"size": [10, 100000]}
    *_, found = assay.race(
        f"{endings}:fine@python", over=over, budget="20s", on="ray://there", store=home
    )

    assert found.places[0].key.endswith("size=10@python")


def test_times_are_sent_as_seconds_from_now():
    case, place = Case(workload="w", backend="b"), CaseDir("run/001", Path())
    entries = [HeatEntry("w", case, place, deadline=deadline) for deadline in (110.0, 120.0)]
    context = HeatContext(Plan(cases=(case,)), Procedure(), decision_rule(2, 0.02), 130.0, 140.0)

    entries, sent = _shift_deadlines(entries, context, -100.0)

    assert (sent.deadline, sent.limit) == (30.0, 40.0)
    assert [entry.deadline for entry in entries] == [10.0, 20.0]


def test_a_heat_that_is_lost_every_time_ends_the_race(endings, home, in_place, monkeypatch):
    monkeypatch.setattr(
        InPlace, "submit", lambda self, units: ((unit, NodeLost("lost 3 times")) for unit in units)
    )
    with pytest.raises(NotPossibleError, match="was lost 3 times"):
        list(assay.race(f"{endings}:fine@python", over={"size": [1, 2]}, on="ray://there"))


def test_what_lies_in_folders_of_this_machine_is_not_compared_elsewhere():
    with pytest.raises(UsageError, match="--commit names a folder of this machine"):
        assay.ab("mnist-mlp@jax", commits=["a", "b"], on="ray://there")

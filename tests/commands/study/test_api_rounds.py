"""Which cases of a study come next."""

from __future__ import annotations

import msgspec

from assay.commands.study import api as engine
from assay.commands.study.api import Rounds
from assay.core.records import Case, Procedure, Result

CASES = tuple(Case(workload="w", backend="b", key=name) for name in "abcdef")


def ending(case: Case, status: str = "ok") -> Result:
    return Result(id="r/001", case=case, procedure=Procedure(), status=status)


def visited(found: Rounds, status=lambda case: "ok") -> list[list[str]]:
    """All groups to the end."""
    groups = []
    while group := found.next_group():
        groups.append([case.key for case in group])
        for case in group:
            found.add_result(ending(case, status(case)))
    return groups


def test_every_case_is_visited_once_in_each_round():
    groups = visited(Rounds(CASES, 3, "seed"))
    keys = [key for group in groups for key in group]

    rounds = [keys[at : at + 6] for at in (0, 6, 12)]
    assert len(keys) == 18
    assert all(sorted(one) == list("abcdef") for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1


def test_rounds_are_not_mixed_in_a_group(monkeypatch):
    monkeypatch.setattr(engine, "MAX_OPEN_CASES", 4)
    groups = visited(Rounds(CASES, 2, "seed"))

    assert [len(group) for group in groups] == [4, 2, 4, 2]


def test_what_does_not_run_is_not_visited_again():
    groups = visited(Rounds(CASES, 3, "seed"), lambda case: "failed" if case.key == "c" else "ok")

    assert sum(group.count("c") for group in groups) == 1


def test_what_could_not_take_turns_comes_once_more_alone():
    found = Rounds(CASES, 1, "seed", done=[ending(CASES[0])])
    group = found.next_group()
    found.retry_solo(group[1])

    assert found.next_group() == [group[1]]


def test_the_facts_of_a_visit_that_ended_well_are_known_to_the_next():
    found = Rounds(CASES, 2, "seed")
    found.add_result(msgspec.structs.replace(ending(CASES[0]), facts={"outputs": "1 2"}))
    found.add_result(msgspec.structs.replace(ending(CASES[1], "failed"), facts={"outputs": "3"}))

    assert [found.facts(case) for case in CASES[:3]] == [{"outputs": "1 2"}, {}, {}]


def test_a_study_goes_on_where_it_was_cut_short():
    done = [ending(case) for case in CASES[:4]] + [ending(CASES[4], "interrupted")]
    groups = visited(Rounds(CASES, 1, "seed", done))

    assert sorted(key for group in groups for key in group) == ["e", "f"]


def test_nothing_is_left_of_a_study_that_is_whole():
    done = [ending(case) for case in CASES]

    assert Rounds(CASES, 1, "seed", done).next_group() == []

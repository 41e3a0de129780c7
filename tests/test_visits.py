"""Which cases of a study come next."""

from __future__ import annotations

import pytest

from assay import visits
from assay.records import Case, Procedure, Result

CASES = tuple(Case(workload="w", backend="b", key=name) for name in "abcdef")


def ending(case: Case, status: str = "ok") -> Result:
    return Result(id="r/001", case=case, procedure=Procedure(), status=status)


def visited(found: visits.Visits, status=lambda case: "ok") -> list[list[str]]:
    """All groups to the end."""
    groups = []
    while group := found.next_group():
        groups.append([case.key for case in group])
        for case in group:
            found.ended(ending(case, status(case)))
    return groups


def test_every_case_is_visited_once_in_each_round():
    groups = visited(visits.Visits(CASES, 3, "seed"))
    keys = [key for group in groups for key in group]

    rounds = [keys[at : at + 6] for at in (0, 6, 12)]
    assert len(keys) == 18
    assert all(sorted(one) == list("abcdef") for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1


def test_rounds_are_not_mixed_in_a_group(monkeypatch):
    monkeypatch.setattr(visits, "TOGETHER", 4)
    groups = visited(visits.Visits(CASES, 2, "seed"))

    assert [len(group) for group in groups] == [4, 2, 4, 2]


def test_what_does_not_run_is_not_visited_again():
    groups = visited(
        visits.Visits(CASES, 3, "seed"), lambda case: "failed" if case.key == "c" else "ok"
    )

    assert sum(group.count("c") for group in groups) == 1


def test_what_could_not_take_turns_comes_once_more_alone():
    found = visits.Visits(CASES, 1, "seed", done=[ending(CASES[0])])
    group = found.next_group()
    found.not_taken(group[1])

    assert found.next_group() == [group[1]]


def test_a_study_goes_on_where_it_was_cut_short():
    done = [ending(case) for case in CASES[:4]] + [ending(CASES[4], "interrupted")]
    groups = visited(visits.Visits(CASES, 1, "seed", done))

    assert sorted(key for group in groups for key in group) == ["e", "f"]


def test_nothing_is_left_of_a_study_that_is_whole():
    done = [ending(case) for case in CASES]

    assert visits.Visits(CASES, 1, "seed", done).next_group() == []


def test_an_interrupt_ends_the_study_after_its_results_are_kept():
    found = visits.Visits(CASES, 1, "seed")
    found.ended(ending(CASES[0], "interrupted"))

    with pytest.raises(KeyboardInterrupt):
        found.stop_if_interrupted()

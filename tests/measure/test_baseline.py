"""Which points are the baseline. What users type is tried in tests/commands/check/test_check.py."""

from __future__ import annotations

import math
from contextlib import closing

import pytest

from assay.core.registry import open_store
from assay.core.series import Point
from assay.measure import baseline
from tests.commands.history.test_history import repository


@pytest.fixture
def store(home):
    with closing(open_store(home)) as opened:
        yield opened


def point(number: int, commit: str = "") -> Point:
    return Point(f"r/{number:03d}", f"2026-01-{number:02d}", commit, "", 1.0, math.nan, math.nan)


def test_a_date_parts_before_from_after(store):
    points = [point(n) for n in range(1, 6)]

    found = baseline.choose("date:2026-01-03", store).sides(points)

    assert (found.baseline, found.candidate) == (points[:2], points[2:])


def test_a_candidate_is_at_most_the_newest_ten(store):
    found = baseline.choose("2026-01-03", store).sides([point(n) for n in range(1, 31)])

    assert [one.id for one in found.candidate] == [f"r/{n:03d}" for n in range(21, 31)]


def test_a_commit_and_all_before_it_are_the_baseline(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second, third = repository(tmp_path, 3)
    points = [point(1, first), point(2, second), point(3, third), point(4)]

    chosen = baseline.choose(second[:12], store)

    assert chosen.sides(points) == baseline.Sides(points[:2], [points[2]])
    assert second[:10] in chosen.text


def test_text_that_looks_like_an_option_of_git_is_no_commit(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    repository(tmp_path, 1)

    assert baseline.commit_hash_of("--all") == ""

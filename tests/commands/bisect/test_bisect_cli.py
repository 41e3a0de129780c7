"""assay bisect: what it prints, and its exit status."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from assay.commands.bisect.api import Bisection, BisectStep
from assay.core import codec
from assay.core.records import Plan
from assay.core.registry import open_store
from assay.stores.runs import BISECTION
from tests.stores.test_sqlite import CASE

FOUND = Bisection(
    key="w@b",
    what="commit",
    names=("a" * 40, "b" * 40, "c" * 40),
    budget=60.0,
    minimum=0.01,
    confidence=0.95,
    tried=(
        BisectStep(place=2, name="c" * 40, verdict="slower", ratio=1.05, low=1.04, high=1.06),
        BisectStep(place=1, name="b" * 40, verdict="skipped", text="it does not build"),
    ),
    effect=1.05,
    suspects=("b" * 40, "c" * 40),
    chance=0.98,
    ended="decided after 2 comparisons",
)


@pytest.fixture
def run(home) -> str:
    with closing(open_store(home)) as store:
        name = store.new_run(Plan(cases=(CASE,), verb="bisect")).name
        store.keep_document(name, BISECTION, codec.encode(FOUND))
    return name


def test_a_bisection_is_shown_again(assay, run):
    status, out, _ = assay("show", run)

    assert status == 0
    assert "bbbbbbbbbbbb or cccccccccccc is the first changed commit" in out
    assert "with a probability of 98.0 %" in out
    assert "it does not build" in out and "git show cccccccccccc" in out


def test_json_is_the_bisection(assay, run):
    found = json.loads(assay("show", run, "--format", "json")[1])

    assert (found["kind"], found["chance"]) == ("bisection", 0.98)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "needs a case"),
        (("w@b", "--good", "HEAD"), "--bad is missing"),
        (("w@b", "--resume", "last"), "needs a case"),
    ],
)
def test_bad_input_is_one_sentence(assay, words, text):
    status, _, error = assay("bisect", *words)

    assert status == 2
    assert text in error


def test_ends_that_are_the_same_leave_with_2(assay, endings):
    status, _, error = assay("bisect", f"{endings}:fine@python", "--good", "HEAD", "--bad", "HEAD")

    assert status == 2
    assert "are the same commit" in error

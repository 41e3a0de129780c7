"""Selections compared from the index alone answer as those that open every result."""

from __future__ import annotations

import shutil
from contextlib import closing

import pytest

from assay.commands.compare.api import CompareOptions, compare_results
from assay.core.errors import UsageError
from assay.core.records import Case, Query
from assay.core.registry import open_store
from assay.stores.selection import select
from tests.kept_runs import CASE, OTHER

pytestmark = pytest.mark.real("jinja2")
NAMES = ("before", "after")


def asked(home, how=CompareOptions()):
    queries = (Query(label="before"), Query(label="after"))
    from assay.web.pages.compare import compare_points

    with closing(open_store(home)) as store:
        return compare_points(store, queries, NAMES, how)


def test_no_result_is_opened_and_the_answer_is_the_same(home, keep):
    for label, factor in (("before", 1.0), ("after", 1.2)):
        keep((CASE, 0.010 * factor, "ok"), (OTHER, 0.020, "ok"), label=label)
    with closing(open_store(home)) as store:
        opened = compare_results(*(select(store, name) for name in NAMES), NAMES)
    for result in home.glob("runs/*/*"):
        if result.is_dir():
            shutil.rmtree(result)

    found = asked(home)

    for one, other in zip(found.differences, opened.differences, strict=True):
        assert (one.key, one.metric, one.verdict) == (other.key, other.metric, other.verdict)
        assert one.ratio == pytest.approx(other.ratio, rel=1e-9)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=0.01)
    assert found.means[0].ratio.value == pytest.approx(opened.means[0].ratio.value, rel=1e-9)
    from assay.web.pages.compare import NOTE

    assert found.notes == (NOTE,)


def test_another_version_of_a_workload_is_not_compared_and_a_commit_is_named(home, keep):
    keep((CASE, 0.01, "ok"), label="before", workload_version="1", commit="a" * 40)
    keep((CASE, 0.02, "ok"), label="after", workload_version="2", commit="b" * 40)

    (one,) = asked(home).differences

    assert one.verdict == "not-comparable"
    assert one.notes == (
        "version of the workload: 1 → 2",
        "commit: aaaaaaaaaaaa → bbbbbbbbbbbb",
    )


def test_groups_metrics_and_what_only_one_side_has(home, keep):
    alone = Case(workload="alone", backend="jax", key="alone@jax")
    keep((CASE, 0.01, "ok"), (OTHER, 0.01, "ok"), (alone, 1.0, "ok"), label="before")
    keep((CASE, 0.02, "ok"), (OTHER, 0.01, "ok"), label="after")

    found = asked(home, CompareOptions(metric="throughput", by="backend"))

    assert {one.key: round(one.ratio, 3) for one in found.differences} == {
        "mnist-mlp@jax": 0.5,
        "mnist-mlp@torch": 1.0,
    }
    assert {mean.group for mean in found.means} == {"backend jax", "backend torch", ""}
    assert found.notes[0] == "only in before: alone@jax"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (CompareOptions(metric="nothing"), "no metric in common named 'nothing'"),
        (CompareOptions(by="nothing"), "no parameter or option named 'nothing'"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(how, words, home, keep):
    for label in NAMES:
        keep((CASE, 0.01, "ok"), label=label)

    with pytest.raises(UsageError, match=words):
        asked(home, how)

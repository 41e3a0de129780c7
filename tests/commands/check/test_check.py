"""The gate: baselines, thresholds, many series together, exit status."""

from __future__ import annotations

from contextlib import closing

import msgspec
import pytest

import assay
from assay.commands.check import api
from assay.core.errors import AssayError, UsageError
from assay.core.records import Case, Environment
from assay.core.registry import open_store
from tests.commands.history.test_history import HERE, keep_series, nights, repository


@pytest.fixture
def store(home):
    with closing(open_store(home)) as opened:
        yield opened


def case(name: str, **params: int) -> Case:
    return Case(workload=name, backend="b", key=f"{name}@b", params=params)


def judgements(found) -> dict[str, str]:
    return {one.key: one.judgement for one in found.found}


def test_what_got_slower_is_a_regression_and_what_did_not_is_fine(store):
    keep_series(store, nights(60, 52, 1.3), case("slow"))
    keep_series(store, nights(60, seed=2), case("fine"))
    keep_series(store, nights(60, 52, 0.7, seed=3), case("fast"))

    found = assay.check(fail_on=["step_time:3%"])

    assert judgements(found) == {
        "slow@b": "regression",
        "fine@b": "fine",
        "fast@b": "improvement",
    }
    assert api.status(found) == 5


def test_a_change_below_the_threshold_passes(store):
    keep_series(store, nights(60, 53, 1.1))

    assert api.status(assay.check(fail_on=["step_time:20%"])) == 0


def test_a_rate_that_is_lower_is_worse(store):
    keep_series(store, nights(60, 53, 1.2), items=8)

    found = assay.check(fail_on=["throughput:5%"])

    assert judgements(found) == {"w@b": "regression"}
    assert judgements(assay.check(fail_on=["throughput:+5%"])) == {"w@b": "improvement"}


def test_one_far_off_night_is_suspect(store):
    keep_series(store, [*nights(40), 0.04])

    found = assay.check()

    assert judgements(found) == {"w@b": "suspect"}
    assert api.status(found) == 6


def test_three_far_off_nights_are_a_regression(store):
    keep_series(store, [*nights(20), 0.04, 0.04, 0.04])

    found = assay.check()

    assert judgements(found) == {"w@b": "regression"}
    assert api.status(found) == 5


def test_too_few_points_say_how_many_are_needed(store):
    keep_series(store, nights(5))

    found = assay.check()
    (one,) = found.found

    assert (one.judgement, api.status(found)) == ("not-comparable", 0)
    assert one.text == "5 points: cannot tell yet"


@pytest.mark.parametrize("since", ["label:old", "tag:build=1", "2026-01-31", "old"])
def test_a_baseline_is_chosen_by_label_tag_or_date(store, since):
    keep_series(
        store,
        nights(40, 30, 1.2),
        label=lambda night: "old" if night < 30 else "",
        tags=lambda night: {"build": "1" if night < 30 else "2"},
    )

    (one,) = assay.check(since).found

    assert one.judgement == "regression"
    assert (one.baseline_points, one.candidate_points) == (30, 10)


def test_a_baseline_is_chosen_by_commit(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commits = repository(tmp_path, 3)

    def environment(night: int) -> Environment:
        return Environment(machine=HERE, git={"commit": commits[night]})

    keep_series(store, [0.02, 0.02, 0.03], environment=environment)

    found = assay.check(commits[1])

    assert (found.found[0].baseline_points, found.found[0].candidate_points) == (2, 1)
    assert judgements(found) == {"w@b": "suspect"}
    assert api.status(found) == 6  # a baseline was named, and one result cannot tell


def test_nothing_comparable_says_why(store):
    keep_series(store, nights(3), case("a", size=1), label="old")
    keep_series(store, nights(3), case("a", size=2))
    keep_series(store, nights(3), case("v"), label="old")
    keep_series(store, nights(3), case("v"), workload_version="2")
    keep_series(store, nights(3), case("m"), label="old")
    keep_series(store, nights(3), case("m"), environment=Environment(machine={"cpu": "Xeon"}))
    keep_series(store, nights(3), case("n"))

    found = assay.check("label:old")
    said = "\n".join(one.text for one in found.found)

    assert api.status(found) == 6  # a gate that compared nothing is not green
    assert "has another parameter: size=1, here 2" in said
    assert "has another version of the workload: , here 2" in said
    assert "has another machine: EPYC, 2 cpus, here Xeon" in said
    assert "has no result of it" in said
    assert "nothing was measured after the baseline" in said


def test_results_of_comparisons_are_not_checked(store):
    keep_series(store, nights(20), tags={"order": "in turns"})
    keep_series(store, nights(20), case("own"))

    assert list(judgements(assay.check())) == ["own@b"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"since": "nowhere"}, "no commit and no label 'nowhere'"),
        ({"since": "commit:nowhere"}, "no commit 'nowhere'"),
        ({"since": "label:none"}, "No result has the label none"),
        ({"since": "tag:x"}, "has no value"),
        ({"fail_on": ["step_time"]}, "is not a threshold"),
        ({"fail_on": ["speed:3%"]}, "No series has the metric 'speed'"),
        ({"alerts": ["slack"]}, "no place for an alert"),
        ({"level": 2}, "has to be between 0 and 1"),
    ],
)
def test_bad_input_is_one_sentence(store, given, text):
    keep_series(store, nights(3))

    with pytest.raises(UsageError, match=text):
        assay.check(**given)


def test_an_empty_store_has_nothing_to_check():
    with pytest.raises(UsageError, match="nothing to check"):
        assay.check()


def test_a_confirmed_regression_fails_and_a_refuted_one_does_not(store):
    keep_series(store, nights(60, 53, 1.3))
    found = assay.check()

    def ended(outcome: str) -> int:
        changed = [msgspec.structs.replace(one, outcome=outcome) for one in found.found]
        return api.status(msgspec.structs.replace(found, found=changed, confirmed=True))

    assert [ended(one) for one in ("confirmed", "refuted", "undecided")] == [5, 0, 6]


def test_a_failing_alert_never_loses_the_finding(store):
    keep_series(store, nights(60, 53, 1.3))

    found = assay.check(alerts=["http://127.0.0.1:9/nobody", "cmd:false"])

    assert judgements(found) == {"w@b": "regression"}
    assert [("FAILED" in one) for one in found.alerts] == [True, True]


def test_a_report_prints_as_its_table_and_iterates_over_its_series(store):
    keep_series(store, nights(60, 52, 1.3), case("slow"))
    keep_series(store, nights(60, 52, 0.7, seed=3), case("fast"))

    report = assay.check(fail_on=["step_time:3%"])

    assert str(report).startswith("1 regression found in 2 series")
    assert {series.key for series in report} == {"slow@b", "fast@b"} and len(report) == 2
    assert report.best.key == "fast@b"
    assert set(report.to_pandas()["judgement"]) == {"regression", "improvement"}
    assert "slow@b" in report._repr_html_()


def test_a_report_without_an_improvement_has_no_best(store):
    keep_series(store, nights(60, seed=2), case("fine"))

    with pytest.raises(AssayError, match="No series improved"):
        _ = assay.check(fail_on=["step_time:3%"]).best

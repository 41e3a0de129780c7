"""assay bench: what it prints, and with which status it leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DATA = str(Path(__file__).parents[2] / "data")
FINE = "bench_endings.Endings.benchmark_fine"


@pytest.mark.parametrize(
    ("name", "status"),
    [("fine", 0), ("silent", 0), ("out_of_bounds", 1), ("raises", 1), ("exits", 1), ("skips", 3)],
)
def test_the_exit_status_tells_whether_it_succeeded(assay, name, status):
    found, out, _ = assay(
        "bench", "run", f"bench_endings.Endings.benchmark_{name}", "--python-path", DATA
    )

    assert found == status
    assert f"benchmark_{name}@bench" in out


def test_trials_are_shown_with_median_interval_and_count(assay):
    _, out, error = assay("bench", "run", FINE, "--python-path", DATA, "--trials", "2")

    row = next(line.split() for line in out.splitlines() if "accuracy" in line)
    assert row[1:] == ["accuracy", "0.900", "0.900", "–", "0.900", "2"]
    assert "kept as" in error


def test_json_has_every_result_and_every_metric(assay):
    _, out, _ = assay("bench", "run", FINE, "--python-path", DATA, "--format", "json")

    document = json.loads(out)
    metrics = {metric["metric"]: metric["quantity"] for metric in document["metrics"]}
    assert (document["schema"], document["kind"]) == (1, "benchmarks")
    assert document["results"][0]["status"] == "ok"
    assert metrics["wall_time"]["value"] == 0.5
    assert set(metrics["wall_time"]) == {"value", "low", "high", "unit", "estimator", "n"}


def test_show_gives_the_metrics_again(assay):
    assay("bench", "run", FINE, "--python-path", DATA, "--trials", "2")
    _, out, _ = assay("show", "last")

    rows = [line.split() for line in out.splitlines() if "wall_time" in line]
    assert [row[1:] for row in rows] == 2 * [[f"{FINE}@bench", "wall_time", "500", "ms", "1", "ok"]]


def test_two_labels_are_compared_over_all_their_trials(assay):
    for label in ("before", "after"):
        assay("bench", "run", FINE, "--python-path", DATA, "--trials", "4", "--label", label)

    status, out, _ = assay("bench", "diff", "before", "after")
    _, document, _ = assay("bench", "diff", "before", "after", "--format", "json")

    wall = next(line for line in out.splitlines() if "wall_time" in line)
    assert status == 0
    assert wall.split()[-1] == "same"
    assert json.loads(document)["differences"][0]["first"]["n"] == 4


def test_a_label_nobody_used_is_an_error(assay):
    status, _, error = assay("bench", "diff", "before", "after")

    assert status == 2
    assert "No benchmark method was run under the label 'before'" in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bench", "run", "fine"), "names no method of a class"),
        (("bench", "run", FINE, "--trials", "0"), "trials is 0, but has to be 1 or more"),
        (("bench", "run", FINE, "--constructor-args", "{"), "--constructor-args is no JSON"),
        (("bench", "run", FINE, "--profile", "5:1"), "5:1 ends before it begins"),
        (("bench", "run", FINE, "--timeout", "long"), "long"),
        (("bench", "run", "no_such.Class.filter:.*"), "there is no module 'no_such'"),
    ],
)
def test_a_mistake_is_one_sentence_and_status_two(assay, words, message):
    status, out, error = assay(*words)

    assert (status, out) == (2, "")
    assert message in error

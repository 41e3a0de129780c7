"""assay list: runs in one line each, with their verdicts."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

STORE = Path(__file__).parent.parent / "frozen" / "data" / "store"


@pytest.fixture
def runs(assay, tmp_path):
    """The runs of a store that has one of nearly every command."""
    shutil.copytree(STORE, tmp_path / "store")

    def list_runs(*words):
        status, out, _ = assay("--store", str(tmp_path / "store"), "list", *words)
        assert status == 0
        return json.loads(out)["runs"] if "json" in words else out

    return list_runs


@pytest.mark.parametrize(
    ("verb", "headline"),
    [
        ("ab", "slower: step_time +47.76 %"),
        ("race", "ahead so far, undecided: mnist-mlp"),
        ("bisect", "ebff8c463fa4 is the first changed commit, with a probability of 98.4 %"),
        ("tune", "conf1: 1.00 times as fast"),
        ("task", "accuracy 0.700"),
        ("train", "accuracy 51.1 %"),
        ("run", "step time 2.12 ms, 3 failed"),
        ("run", "step time 1.89 ms to 3.09 ms"),
    ],
)
def test_a_run_has_its_verdict_or_its_main_metric(runs, verb, headline):
    lines = [(line["verb"], line["headline"]) for line in runs("--format", "json")]

    assert [one for one in lines if one[0] == verb and one[1].startswith(headline)] != []


def test_comparisons_of_a_bisect_are_no_runs_of_their_own(runs):
    lines = runs("--format", "json")

    assert [line["verb"] for line in lines].count("bisect") == 1
    assert not any("repo/nap.py" in line["request"] for line in lines if line["verb"] == "ab")


def test_the_newest_runs_are_shown_last_and_older_ones_counted(runs):
    every = runs("--format", "json")
    text = runs("--limit", "2")

    assert [line["started"] for line in every] == sorted(line["started"] for line in every)
    shown = re.findall(r"^(\w{4})  20", text, re.MULTILINE)
    assert shown == [line["run"].rpartition("-")[2] for line in every[-2:]]
    assert f"{len(every) - 2} older runs are not shown; --limit 0 shows all" in text


def test_runs_are_selected_as_results_are(runs):
    assert [line["label"] for line in runs("--label", "tuned", "--format", "json")] == ["tuned"]


def test_results_of_comparisons_are_shown_on_request(assay, runs, tmp_path):
    some = runs("results", "--limit", "0")
    every = runs("results", "--limit", "0", "--all")
    hidden = int(re.search(r"(\d+) of an ab, race or bisect are not shown; --all", some)[1])

    assert len(every.splitlines()) == len(some.splitlines()) + hidden - 1  # and its note
    assert "nap_longer" in every and "nap_longer" not in some


def test_an_empty_store_names_the_first_command(assay):
    assert "assay run mnist-mlp" in assay("list")[1]

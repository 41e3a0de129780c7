"""assay show: kept results again, in every format, and what is said where there are none."""

from __future__ import annotations

import csv
import io
import json

import pytest

QUICK = ("--samples", "3", "--steps-per-sample", "1")


def test_json_has_the_documented_shape(assay, kept):
    status, out, _ = assay("show", kept, "--format", "json")

    document = json.loads(out)
    (result,) = document["results"]
    assert status == 0
    assert (document["schema"], document["kind"]) == (1, "results")
    assert result["id"] == f"{kept}/001"
    assert (result["status"], result["reason"], result["label"]) == ("ok", "", "first")
    assert result["tags"] == {"gpu": "none"}
    assert set(result["summary"]) >= {"step_time", "throughput", "first_step"}
    for quantity in result["summary"].values():
        assert set(quantity) == {"value", "low", "high", "unit", "estimator", "n"}
    assert result["environment"]["machine"]["cpus"] >= 1


def test_run_and_show_print_the_same_document(assay, endings):
    _, ran, _ = assay("run", f"{endings}:fine@python", *QUICK, "--format", "json")
    _, shown, _ = assay("show", "last", "--format", "json")

    assert json.loads(ran) == json.loads(shown)


def test_csv_gives_plain_numbers(assay, kept):
    _, out, _ = assay("show", kept, "--format", "csv")

    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(out))}
    assert float(rows["step_time"]["value"]) > 0
    assert rows["step_time"]["unit"] == "s"


def test_markdown_is_a_table(assay, kept):
    _, out, _ = assay("show", kept, "--format", "markdown")

    assert out.startswith("| case |")


def test_an_unknown_run_is_told_from_an_empty_store(assay, kept):
    _, _, error = assay("show", "nothing")

    assert "no run named 'nothing'" in error


def test_a_single_result_is_shown_with_all_that_is_known_of_it(assay, kept):
    _, out, _ = assay("show", f"{kept}/1")

    assert "what ran" in out
    assert "the machine meanwhile" in out


def test_several_runs_are_shown_in_one_table(assay, kept, endings):
    _, _, error = assay("run", f"{endings}:raises@python", *QUICK)
    other = error.partition("kept as ")[2].partition(";")[0]

    _, out, _ = assay("show", kept, other, "--format", "json")

    assert [one["status"] for one in json.loads(out)["results"]] == ["ok", "failed"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("nothing",), "Nothing has been measured yet"),
        (("last", "--format", "xml"), "format is 'xml', but has to be one of"),
    ],
)
def test_misuse_is_one_sentence(assay, words, complaint):
    status, out, error = assay("show", *words)

    assert (status, out) == (2, "")
    assert complaint in error


def test_a_result_that_cannot_be_read_is_named(assay, kept, home):
    (home / "runs" / kept / "001" / "result.json").write_text("{")

    status, out, error = assay("show", kept)

    assert (status, out) == (2, "")
    assert "001/result.json is not readable JSON" in error
    assert f"error: {kept} has no readable result." in error


@pytest.mark.parametrize("verb", ["run", "evaluate", "train", "race"])
def test_a_run_without_results_says_how_the_verb_that_made_it_goes_on(assay, begun, verb):
    run = begun(verb)

    status, _, error = assay("show", run)

    assert status == 2
    assert f"assay {verb} --resume {run}" in error


def test_nothing_is_resumed_that_cannot_be(assay, begun):
    begun("task")

    _, _, error = assay("show", "last")

    assert "has no readable result" in error
    assert "--resume" not in error

"""The command line: what it prints where, and with which status it leaves."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay import cli

FRAMEWORKS = {"keras", "jax", "torch", "tensorflow"}
QUICK = ("--samples", "3", "--steps-per-sample", "1")


@pytest.fixture
def kept(assay, endings):
    """One kept run of one case; its id."""
    status, _, error = assay(
        "run", f"{endings}:fine@python", *QUICK, "--label", "first", "--tag", "gpu=none"
    )
    assert status == 0
    return error.partition("kept as ")[2].partition(";")[0]


def test_help_groups_the_verbs_and_says_what_a_newcomer_needs(assay):
    status, out, _ = assay("--help")

    assert status == 0
    assert "Measure:\n  run" in out
    assert "assay run mnist-mlp" in out


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_has_help_with_an_example(assay, verb):
    status, out, _ = assay(verb, "--help")

    assert status == 0
    assert f"  assay {verb}" in out.partition("Example")[2]


def loaded_by(*words: str) -> set[str]:
    """The modules a fresh command loads."""
    code = "import sys\nfrom assay.cli import main\ntry: main()\n"
    code += "finally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, check=True)
    return set(done.stderr.decode().split())


def test_help_loads_no_framework_numpy_or_database():
    heavy = FRAMEWORKS | {"numpy", "sqlalchemy", "sqlite3", "msgspec"}

    assert not loaded_by("--help") & heavy


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("words", [("list", "workloads"), ("list", "backends"), ("show", "last")])
def test_looking_loads_no_framework_and_no_numpy(words):
    loaded_by(*words)  # the first look makes the summary, which is then kept

    assert not loaded_by(*words) & (FRAMEWORKS | {"numpy"})


STORE = {"sqlite3", "assay.api", "assay.stores.sql"}
# Our own count too: where Python may write no byte code, each start compiles all it loads.
NOT_FOR = {
    "workloads": STORE | {"json", "subprocess", "assay.workloads._accuracy_nets"},
    "backends": STORE | {"json", "subprocess", "assay.workloads"},
    "results": {"json", "shutil", "subprocess", "assay.registry", "assay.contracts"},
}


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("what", NOT_FOR)
def test_a_list_loads_nothing_of_another(what):
    assert not loaded_by("list", what) & NOT_FOR[what]


def test_results_go_to_standard_output_and_the_rest_elsewhere(assay, endings):
    _, out, error = assay("run", f"{endings}:fine@python", *QUICK)

    assert "step time" in out
    assert "kept as" not in out
    assert "kept as" in error


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


def test_an_unknown_run_is_told_from_an_empty_store(assay, kept):
    _, _, error = assay("show", "nothing")

    assert "no run named 'nothing'" in error


def test_a_run_that_is_complete_says_so(assay, kept):
    status, out, error = assay("run", "--resume", kept)

    assert (status, out) == (0, "")
    assert "Nothing was left to measure" in error


def test_latency_shows_its_tails(assay, endings):
    words = ("run", f"{endings}:fine@python", "--latency", "--samples", "700")
    _, out, _ = assay(*words)

    assert "p90" in out
    assert "p99" in out


def test_markdown_is_a_table(assay, kept):
    _, out, _ = assay("show", kept, "--format", "markdown")

    assert out.startswith("| case |")


def test_lists_can_be_json(assay, kept):
    _, out, _ = assay("list", "results", "--label", "first", "--format", "json")

    assert json.loads(out)["rows"][0]["id"] == f"{kept}/001"


@pytest.mark.parametrize(
    ("ending", "status"), [("fine", 0), ("raises", 1), ("exits", 1), ("has_no_memory", 1)]
)
def test_the_status_tells_how_it_went(assay, endings, ending, status):
    assert assay("run", f"{endings}:{ending}@python", *QUICK)[0] == status


def test_a_failure_says_where_its_log_is(assay, endings):
    _, _, error = assay("run", f"{endings}:raises@python", *QUICK)

    log = Path(error.partition("what it printed: ")[2].splitlines()[0])
    assert "ValueError: no good" in log.read_text()


def test_nothing_possible_here_is_status_3(assay, endings):
    status, out, _ = assay("run", f"{endings}:fine@python:threads=100000", *QUICK)

    assert status == 3
    assert "threads is 100000" in out


def test_some_skipped_is_fine(assay, endings):
    status, _, _ = assay("run", f"{endings}:fine@python", "--threads", "1,100000", *QUICK)

    assert status == 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("runn",), "no command named 'runn'"),
        (("run",), "No case was given"),
        (("run", "mnist-mlpp"), "no workload named"),
        (("run", "--suite", "todays"), "no suite named 'todays'"),
        (("run", "mnist-mlp", "-b", "keras-jaxx"), "no backend named"),
        (("run", "mnist-mlp", "-b", "theano"), "any more"),
        (("run", "mnist-mlp", "--set", "units"), "--set got 'units'"),
        (("run", "mnist-mlp", "--set", "unit=3"), "no parameter of mnist-mlp named 'unit'"),
        (("run", "mnist-mlp", "--budget", "soon"), "'soon' is not a duration"),
        (("run", "mnist-mlp", "--budget", "0s"), "budget is 0"),
        (("run", "mnist-mlp", "--target", "x"), "'x' is not a share"),
        (("run", "mnist-mlp", "--samples", "-3"), "samples is -3"),
        (("run", "mnist-mlp", "--samples", "few"), "not a valid integer"),
        (("run", "mnist-mlp", "--tag", "x"), "--tag got 'x'"),
        (("run", "--resume", "nothing"), "Nothing has been measured yet"),
        (("run", "mnist-mlp", "--bugdet", "3"), "No such option"),
        (("show", "nothing"), "Nothing has been measured yet"),
        (("run", "mnist-mlp", "--resume", "last"), "--resume was given with mnist-mlp"),
        (("run", "mnist-mlp", "--set", "units=3,hidden=2"), "takes one NAME at a time"),
        (("run", "mnist-mlp", "--target", "200%"), "between 0 and 1"),
        (("plot", "last", "-o", "nowhere/p.png"), "The folder nowhere is not there"),
        (("show",), "Missing argument"),
        (("list", "workload"), "'workload' is not one of"),
        (("import", "nowhere"), "is no run folder"),
    ],
)
def test_misuse_is_one_sentence_and_status_2(assay, words, complaint):
    status, out, error = assay(*words)

    assert status == 2
    assert complaint in error
    assert out == ""
    assert "Traceback" not in error


def test_an_unreadable_store_is_status_4(assay, tmp_path):
    (tmp_path / "file").touch()

    status, _, error = assay("list", "results", "--home", str(tmp_path / "file"))

    assert status == 4
    assert "cannot be opened" in error


def test_import_takes_in_a_run_from_elsewhere(assay, kept, home, tmp_path):
    status, out, _ = assay("import", str(home / "runs" / kept), "--home", str(tmp_path / "other"))

    assert (status, out) == (0, f"{kept}/001\n")
    assert assay("show", kept, "--home", str(tmp_path / "other"))[0] == 0


def test_a_secret_is_never_kept(assay, endings, home, monkeypatch):
    monkeypatch.setenv("XLA_API_KEY", "hunter2")
    monkeypatch.setenv("TF_PASSWORD", "hunter2")

    assay("run", f"{endings}:fine@python", *QUICK, "--tag", "token=hunter2")

    kept = [file for file in home.rglob("*") if file.is_file()]
    assert kept
    assert not any(b"hunter2" in file.read_bytes() for file in kept)


def test_a_count_of_results_below_nought_is_refused(assay):
    status, _, error = assay("list", "results", "--limit", "-1")

    assert status == 2
    assert "-1 is not in the range" in error


@pytest.mark.parametrize("what", ["workloads", "backends"])
def test_a_list_in_a_pipe_is_wrapped_and_as_csv_it_is_not(assay, what):
    _, text, _ = assay("list", what)
    _, values, _ = assay("list", what, "--format", "csv")

    assert max(map(len, text.splitlines())) <= 120
    assert max(map(len, values.splitlines())) > 120

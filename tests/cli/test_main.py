"""The command line: what it prints where, and with which status it leaves."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

from assay.cli import main
from assay.stores.runs import RESUMABLE

FRAMEWORKS = {"keras", "jax", "torch", "tensorflow"}
QUICK = ("--samples", "3", "--steps-per-sample", "1")


def test_a_folder_that_was_deleted_is_one_sentence(assay, endings, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    status, out, error = assay("run", f"{endings}:fine@python", *QUICK)

    assert (status, out) == (2, "")
    assert "The current folder is not there any more" in error


@pytest.mark.parametrize(
    "words",
    [
        ("list", "results", "--home", "~nouser"),
        ("data", "list", "--home", "~nouser/x"),
    ],
)
def test_the_home_of_nobody_is_one_sentence(assay, words):
    status, out, error = assay(*words)

    assert (status, out) == (2, "")
    assert "begins with the home folder of an unknown user" in error


@pytest.mark.parametrize(
    "words",
    [
        ("import", "--", "-" * 100_000),
        ("show", "--", "-" * 100_000),
        ("run", "--", "-" * 100_000),
        ("run", "mnist-mlp", "--budget=" + "-" * 100_000),
    ],
    ids=lambda words: words[0],
)
def test_a_word_of_minus_signs_is_refused(assay, words):
    status, out, error = assay(*words)

    assert (status, out) == (2, "")
    assert error.count("error: ") == 1


@pytest.mark.parametrize("flag", ["--samples", "--processes", "--steps-per-sample"])
def test_a_count_of_23_digits_is_refused(assay, endings, home, flag):
    status, out, error = assay("run", f"{endings}:fine@python", flag, "1" * 23)

    assert (status, out) == (2, "")
    assert "has to be 1000000000 or less" in error
    assert not list(home.glob("runs/*"))


def test_an_option_of_23_digits_is_refused(assay, endings, home):
    status, _, error = assay("run", f"{endings}:fine@python:threads={'1' * 23}", *QUICK)

    assert status == 2
    assert "which is too large" in error
    assert not list(home.glob("runs/*"))


def test_help_groups_the_commands_that_most_users_need(assay):
    status, out, _ = assay("--help")
    named = [name for name in main.COMMANDS if re.search(rf"^  {name} ", out, re.MULTILINE)]

    assert status == 0
    assert "Measure:\n  run" in out
    assert re.findall(r"^(\w[\w ]*):$", out, re.MULTILINE) == [
        "Options",
        "Measure",
        "Decide",
        "Watch",
        "Make faster",
        "Share",
        "Start with",
    ]
    assert len(named) == 15
    assert "assay run mnist-mlp" in out and "assay help all" in out


def test_help_all_shows_every_command(assay):
    status, out, _ = assay("help", "all")

    assert status == 0
    assert [
        name for name in main.COMMANDS if not re.search(rf"^  {name} ", out, re.MULTILINE)
    ] == []


@pytest.mark.parametrize("verb", main.COMMANDS)
def test_examples_of_a_help_page_do_not_run_into_its_text(verb):
    epilog = main.load(verb).command.epilog or ""
    paragraphs = [part for part in epilog.split("\n\n") if not part.startswith("\b")]

    assert [part for part in paragraphs if "\n  " in part] == []


@pytest.mark.parametrize("verb", main.COMMANDS)
def test_every_verb_has_help_with_an_example(assay, verb):
    status, out, _ = assay(verb, "--help")

    assert status == 0
    assert f"  assay {verb}" in out.partition("Example")[2]


def loaded_by(*words: str) -> set[str]:
    """The modules a fresh command loads."""
    code = "import sys\nfrom assay.cli.main import main\ntry: main()\n"
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


STORE = {"sqlite3", "assay.stores.read", "assay.stores.sqlite"}
# Our own count too: where Python may write no byte code, each start compiles all it loads.
NOT_FOR = {
    "workloads": STORE | {"json", "subprocess", "assay.workloads.models.accuracy_nets"},
    "backends": STORE | {"json", "subprocess", "assay.workloads"},
    "results": {"json", "shutil", "subprocess", "assay.workloads", "assay.backends"},
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


@pytest.mark.parametrize(
    ("ending", "status"), [("fine", 0), ("raises", 1), ("exits", 1), ("has_no_memory", 1)]
)
def test_the_status_tells_how_it_went(assay, endings, ending, status):
    assert assay("run", f"{endings}:{ending}@python", *QUICK)[0] == status


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
        (("run", "mnist-mlp", "--bugdet", "3"), "No such option"),
        (("run", "mnist-mlp", "--samples", "few"), "not a valid integer"),
        (("show",), "Missing argument"),
        (("list", "workload"), "what is 'workload', but has to be one of"),
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


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(("maker", "other"), list(permutations(RESUMABLE, 2)))
def test_a_run_is_resumed_by_the_verb_that_made_it_alone(assay, begun, home, maker, other):
    run = begun(maker)
    before = files_in(home / "runs" / run)

    words = ("study", "vgg16") if other == "study" else (other,)
    status, out, error = assay(*words, "--resume", run)

    assert (status, out) == (2, "")
    assert error.startswith(f"error: Run {run} was made by assay {maker}, so assay {other} cannot ")
    assert error.count("error:") == 1
    assert files_in(home / "runs" / run) == before


def test_every_verb_that_has_resume_is_held_to_that():
    takes = {verb for verb in main.COMMANDS if takes_resume(verb)} - {"tune"}  # its own folder's

    assert takes == set(RESUMABLE)


def takes_resume(verb: str) -> bool:
    command = main.assay.get_command(None, verb)
    return any("--resume" in parameter.opts for parameter in command.params)

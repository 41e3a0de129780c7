"""assay task: commands as benchmarks, and logs that exist already."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("task", "run"), "Neither a task nor a command"),
        (("task", "run", "python", "train.py"), "assay task run -- python train.py"),
        (("task", "run", "nothing"), "named 'nothing'"),
        (("task", "run", "x", "--file", "nowhere.toml"), "nowhere.toml"),
        (("task", "parse", "no.log", "--task", "documented"), "There is no log no.log"),
        (("task", "parse", "train.log", "--task", "docmented"), "named 'docmented'"),
        (("task", "run", "--policy", "nope", "--", "true"), "named 'nope'"),
        (("task", "parse", "no.log"), "There is no log no.log"),
    ],
)
def test_misuse_is_one_sentence(assay, folder, words, complaint):
    status, _, error = assay(*words)

    assert status == 2
    assert complaint in error
    assert "Traceback" not in error


def test_a_policy_gives_a_command_its_metrics(assay, folder):
    words = ("task", "run", "--policy", "a_policy", "--format", "json")
    status, out, _ = assay(*words, "--", "sh", "-c", "echo speed 4; echo speed 6")

    assert status == 0
    assert json.loads(out)["results"][0]["summary"]["speed"]["value"] == 5


def test_a_log_is_parsed(assay, folder, documented):
    status, out, _ = assay("task", "parse", "train.log", "--task", "documented", "--format", "json")

    summary = json.loads(out)["results"][0]["summary"]
    assert status == 0
    values = {name: summary[name]["value"] for name in documented}
    assert values == pytest.approx(documented, abs=1e-6)


def test_suggestions_are_shown_and_saved(assay, folder):
    words = ("task", "run", "--save", "mine.toml", "--", "sh", "-c", "cat train.log")
    status, out, error = assay(*words)

    assert status == 0
    assert "Speed" in out or "speed" in out
    assert "saved as mine.toml" in error
    assert assay("list", "tasks", "--file", "mine.toml")[0] == 0


def test_a_saved_file_is_not_overwritten(assay, folder):
    Path("mine.toml").write_text("")

    status, _, error = assay("task", "run", "--save", "mine.toml", "--", "cat", "train.log")

    assert status == 2
    assert "is there already" in error


def test_a_log_without_a_task_suggests_its_metrics(assay, folder, home):
    status, out, error = assay("task", "parse", "train.log", "--save", "mine.toml")

    assert status == 0
    assert "823.037" in out
    assert "saved as mine.toml" in error
    assert not (home / "runs").exists()
    assert assay("task", "parse", "train.log", "--task", "train", "--file", "mine.toml")[0] == 0


def test_a_log_without_numbers_suggests_none(assay, folder):
    Path("words.log").write_text("no numbers here\n")

    status, _, error = assay("task", "parse", "words.log")

    assert status == 0
    assert "no metric is suggested" in error


def test_a_suggestion_never_fails_a_good_command(assay, folder):
    Path("odd.log").write_text(
        "3x3_s1\tforward: 1.5 ms\n3x3_s1\tforward: 2.5 ms\nloss nan\nloss 1\n"
    )

    status, out, _ = assay("task", "run", "--", "cat", "odd.log")

    assert status == 0
    assert "forward" in out

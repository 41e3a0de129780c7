"""A word that is no command leads to the command that is meant."""

from __future__ import annotations

import pytest

from assay.cli.main import COMMANDS, REMOVE_WORDS, SYNONYMS, unknown_command


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("versus", "assay ab --help"),
        ("bench-mark", "assay run --help"),
        ("fastest", "assay race --help"),
        ("quantize", "assay tune --help"),
        ("Accuracy", "assay evaluate --help"),
        ("graph", "assay plot --help"),
        ("backends", "'list backends'"),
        ("evalute", "'evaluate'"),
        ("RUN", "'run'"),
        ("xyzzy", "assay help all"),
    ],
)
def test_a_wrong_word_leads_to_the_right_one(assay, word, hint):
    status, out, error = assay(word)

    assert (status, out) == (2, "")
    assert f"There is no command named '{word}'" in error
    assert hint in error


def test_every_synonym_leads_to_a_verb_and_is_none_itself():
    assert {meant.split()[0] for meant in SYNONYMS.values()} <= set(COMMANDS)
    assert not (set(SYNONYMS) | REMOVE_WORDS) & set(COMMANDS)
    assert all(word == word.lower() and "-" not in word for word in SYNONYMS)


@pytest.mark.parametrize("word", ["rm", "delete"])
def test_who_wants_to_remove_learns_how(word):
    assert "assay results rm" in unknown_command(word, COMMANDS).hint


@pytest.mark.parametrize(
    ("words", "shown"),
    [((), "Measure:\n  run"), (("run",), "Measure CASE"), (("task", "run"), "Run the task NAME")],
)
def test_help_is_also_a_word(assay, words, shown):
    assert assay("help", *words) == (0, assay(*words, "--help")[1], "")
    assert shown in assay("help", *words)[1]


def test_help_of_nothing_is_a_mistake(assay):
    status, _, error = assay("help", "nothing")

    assert status == 2
    assert "no command named 'nothing'" in error

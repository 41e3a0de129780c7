"""assay results: a dry list first, and only --yes removes."""

from __future__ import annotations

import json

import assay as library


def test_nothing_is_removed_before_it_was_listed(assay, kept):
    status, out, _ = assay("results", "rm", kept)

    assert status == 0
    assert f"{kept}/001" in out
    assert "dry run: repeat with --yes to remove them" in out
    assert len(library.readings()) == 1


def test_yes_removes_what_it_lists(assay, kept):
    status, out, error = assay("results", "rm", kept, "--yes", "--format", "json")

    assert (status, json.loads(out)["results"][0]["id"]) == (0, f"{kept}/001")
    assert "1 results were removed" in error
    assert library.readings() == []


def test_labels_and_tags(assay, kept):
    assert assay("results", "label", "last", "baseline")[:2] == (0, f"{kept}/001\n")
    assert assay("results", "tag", "last", "night=1", "--drop", "gpu")[0] == 0

    (found,) = library.readings()
    assert (found.result.label, found.result.tags) == ("baseline", {"night": "1"})


def test_prune_lists_what_is_old(assay, kept):
    assert f"{kept}/001" not in assay("results", "prune", "--keep", "1")[1]
    out = assay("results", "prune", "--label", "first", "--before", "2999")[1]
    assert f"{kept}/001" in out and "dry run" in out


def test_bad_input_is_one_sentence(assay, kept):
    assert assay("results", "rm", "nothing")[0] == 2
    assert assay("results", "prune")[0] == 2
    status, _, error = assay("results", "tag", "last")
    assert status == 2 and "No tag was given" in error

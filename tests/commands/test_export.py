"""Results as files of other tools, from Python."""

from __future__ import annotations

import json

import pytest

import assay
from assay.core.errors import AssayError, UsageError
from assay.core.records import Query


@pytest.fixture
def ids(tmp_path) -> list[str]:
    found = []
    for label in ("before", "after"):
        path = tmp_path / f"{label}.json"
        path.write_text(json.dumps({"results": [{"command": label, "times": [0.5, 0.25]}]}))
        found += assay.import_run(path, label=label)
    return found


def commands(data: bytes) -> list[str]:
    return [row["command"] for row in json.loads(data)["results"]]


def test_chosen_results_are_exported(ids, tmp_path):
    data = assay.export(ids[1], kind="hyperfine", output=tmp_path / "new" / "it.json")

    assert commands(data) == ["after"]
    assert (tmp_path / "new" / "it.json").read_bytes() == data


def test_without_ids_the_query_chooses_and_nothing_chooses_all(ids):
    assert commands(assay.export(kind="hyperfine", query=Query(label="before"))) == ["before"]
    assert sorted(commands(assay.export(kind="hyperfine"))) == ["after", "before"]


def test_a_format_that_is_only_read_is_refused_with_those_that_are_written(ids):
    with pytest.raises(UsageError, match="assay reads files of nvidia-smi") as caught:
        assay.export(ids[0], kind="nvidia-smi")
    assert "pyperf" in caught.value.hint


def test_an_empty_selection_is_an_error(ids, tmp_path):
    with pytest.raises(UsageError, match="The query has no result to export"):
        assay.export(kind="csv", query=Query(label="nobody"), output=tmp_path / "it.csv")
    assert not (tmp_path / "it.csv").exists()


def test_a_place_that_cannot_be_written_is_said(ids, tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(AssayError, match="cannot be written"):
        assay.export(ids[0], kind="csv", output=tmp_path / "file" / "it.csv")


def test_progress_says_how_many_of_how_many(ids):
    seen = []
    assay.export(kind="hyperfine", progress=lambda done, count: seen.append((done, count)))

    assert seen == [(0, 2), (1, 2), (2, 2)]

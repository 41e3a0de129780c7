"""assay export, and assay import of the file that it wrote."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize("kind", ["pyperf", "google-benchmark", "pytest-benchmark", "csv"])
def test_what_is_exported_can_be_imported_elsewhere(assay, kept, tmp_path, kind):
    status, _, error = assay("export", kept, "--as", kind, "-o", str(tmp_path / "it"))
    assert (status, error) == (0, f"written to {tmp_path / 'it'}\n")

    other = str(tmp_path / "other")
    status, out, _ = assay("import", str(tmp_path / "it"), "--home", other, "--label", "theirs")
    _, listed, _ = assay("list", "results", "--home", other, "--format", "json")

    assert (status, out.count("/001")) == (0, 1)
    (row,) = json.loads(listed)["rows"]
    assert (row["metric"], row["unit"], row["label"]) == ("step_time", "s", "theirs")


def test_without_a_file_it_is_printed(assay, kept):
    status, out, _ = assay("export", "last", "--as", "bmf")

    assert status == 0
    assert next(iter(json.loads(out).values()))["latency"]["value"] > 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--as", "csv"), "Nothing was given to export"),
        (("last", "--all", "--as", "csv"), "ids and --all was given to export"),
        (("last", "--as", "pypref"), "There is no format named 'pypref'"),
        (("last", "--as", "nvidia-smi"), "assay reads files of nvidia-smi"),
        (("last", "--as", "parquet"), "A file of parquet cannot be printed"),
        (("--label", "nobody", "--as", "csv"), "The query has no result to export"),
        (("last",), "Missing option '--as'"),
    ],
)
def test_a_mistake_is_one_sentence_and_status_two(assay, kept, words, complaint):
    status, out, error = assay("export", *words)

    assert (status, out) == (2, "")
    assert complaint in error


def test_the_list_of_formats_says_which_way_each_goes(assay):
    _, out, _ = assay("list", "formats", "--format", "json")

    rows = {row["format"]: (row["import"], row["export"]) for row in json.loads(out)["rows"]}
    assert rows["pyperf"] == ("yes", "yes")
    assert rows["aws-driver"] == ("yes", "")

"""Stores on the command line: before the command, behind it, and copied; a password is nowhere."""

from __future__ import annotations

import json

import pytest

from tests.kept_runs import CASE
from tests.postgres import PASSWORD


def test_a_copy_is_counted_and_repeated_for_nothing(assay, keep, home, tmp_path):
    keep((CASE, 0.01, "ok"))
    words = ("store", "copy", str(home), f"sqlite:{tmp_path / 'other'}", "--format", "json")

    first, second = (json.loads(assay(*words)[1]) for _ in range(2))

    assert (first["results"], first["copied"]) == (1, 1)
    assert (second["results"], second["copied"]) == (1, 0)


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("store", "copy", "one"), 2, "Missing argument 'TO'"),
        (("store", "copy", "a", "a"), 2, "is the one to copy to"),
        (("--store", "mysql://h/d", "list", "results"), 2, "There is no store named 'mysql'"),
        (("--store", "postgres//h/d", "list", "results"), 2, "begins with postgresql://"),
        (
            ("--store", "a", "list", "results", "--home", "b"),
            2,
            "one before the command and another after it",
        ),
    ],
)
def test_what_is_wrong_is_said(assay, words, status, sentence):
    left, _, err = assay(*words)

    assert (left, sentence in err) == (status, True)


@pytest.mark.real("postgresql", "psycopg")
def test_a_run_into_a_database_is_shown_from_it_and_its_password_is_nowhere(
    assay, postgres, database, endings, home
):
    url = postgres.with_password
    said = [
        assay("--store", url, "run", f"{endings}:fine@python", "--budget", "100ms"),
        assay("show", "last", "--store", url),
        assay("--store", url, "results", "label", "last", "nightly"),
        assay("--store", url, "history", f"{endings}:fine"),
        assay("--store", url, "results", "rm", "last"),
        assay("store", "copy", url, str(home / "copy")),
        assay("--store", url.replace("/assay", "/nowhere"), "show", "last"),
    ]

    assert [status for status, *_ in said] == [0, 0, 0, 0, 0, 0, 4]
    assert "fine@python" in said[1][1]
    tables = ["runs", "files", "results", "series", "summaries"]
    kept = [row for table in tables for row in postgres.execute(f"SELECT * FROM assay.{table}")]
    files = [file.read_bytes() for file in home.rglob("*") if file.is_file()]
    names = [str(path) for path in home.rglob("*")]
    assert kept and files
    assert PASSWORD not in f"{said} {kept} {names}"
    assert not any(PASSWORD.encode() in data for data in files)


@pytest.mark.real("postgresql", "psycopg")
def test_without_a_server_the_command_says_so_before_it_measures(assay, endings):
    status, out, err = assay(
        "--store", "postgresql://127.0.0.1:1/assay", "run", f"{endings}:fine@python"
    )

    assert (status, out) == (4, "")
    assert "error: The store postgresql://127.0.0.1:1/assay cannot be used" in err

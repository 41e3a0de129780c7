"""Whatever standard output and error are, the measurement is made and kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from assay import read_results

MEASURE = ("run", "--samples", "2", "--steps-per-sample", "1")
ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")


def shell(words, redirection: str, **variables) -> subprocess.CompletedProcess:
    """The command line in a process of its own, its streams as a shell sets them."""
    line = " ".join(f"'{word}'" for word in (*ASSAY, *words))
    return subprocess.run(
        ["sh", "-c", f"{line} {redirection}"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.getcwd(), **variables},
        check=False,
    )


@pytest.mark.parametrize(
    ("redirection", "status"),
    [("2>&-", 0), (">&-", 0), (">&- 2>&- <&-", 0), (">/dev/full", 1), ("2>/dev/full", 0)],
)
def test_closed_and_full_streams_lose_no_result(endings, redirection, status):
    done = shell([*MEASURE, f"{endings}:fine@python"], redirection)

    assert b"Traceback" not in done.stderr
    assert done.returncode == status, done.stderr
    assert [reading.result.status for reading in read_results()] == ["ok"]


def test_output_that_cannot_be_written_is_said_and_where_the_result_is(endings):
    done = shell([*MEASURE, f"{endings}:fine@python"], ">/dev/full")

    assert b"error: Standard output cannot be written (No space left on device)." in done.stderr
    assert b"hint:  What was measured is kept: assay list results" in done.stderr


@pytest.mark.parametrize("words", [("--help",), ("list", "workloads"), ("list", "--help")])
def test_a_reader_that_has_seen_enough_is_no_failure(words):

    gone = subprocess.run(
        ["bash", "-c", f"{' '.join(map(repr, (*ASSAY, *words)))} | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        check=False,
    )

    assert (gone.returncode, gone.stderr) == (0, b"")


@pytest.mark.parametrize("form", ["text", "json", "markdown", "csv"])
def test_an_encoding_without_the_letters_of_a_table_loses_nothing(endings, form):
    label = "größer → 名 😀"
    words = [*MEASURE, f"{endings}:fine@python", "--label", label, "--format", form]

    done = shell(words, "", PYTHONIOENCODING="latin-1")

    assert b"Traceback" not in done.stderr
    assert done.returncode == 0
    if form == "json":
        found = json.loads(done.stdout.decode("latin-1"))["results"][0]["label"]
        assert found == label.replace("→", "->")

"""assay report: one file, and what it refuses."""

from __future__ import annotations

from contextlib import closing

import pytest

from assay.core.records import Plan
from assay.core.registry import open_store
from tests.kept_runs import CASE, OTHER

pytestmark = pytest.mark.real("jinja2")


def test_a_run_becomes_one_file_that_loads_nothing(assay, keep, tmp_path):
    keep((CASE, 0.01, "ok"), (OTHER, 0.02, "ok"))

    status, out, _ = assay("report", "last", "-o", str(tmp_path / "a.html"))
    text = (tmp_path / "a.html").read_text()

    assert status == 0
    assert out.strip() == str(tmp_path / "a.html")
    assert "mnist-mlp@torch" in text
    assert "src=" not in text
    assert "default-src 'none'" in text


def test_a_label_brings_all_its_runs(assay, keep, tmp_path):
    runs = [keep((CASE, 0.01, "ok"), label="nightly") for _ in range(2)]
    keep((OTHER, 0.01, "ok"))

    assay("report", "nightly", "-o", str(tmp_path / "a.html"))
    text = (tmp_path / "a.html").read_text()

    assert all(run in text for run in runs)
    assert "mnist-mlp@torch" not in text


def test_a_run_that_is_going_on_is_reported_as_far_as_it_came(assay, keep, tmp_path, home):
    run = keep((CASE, 0.01, "ok"), (OTHER, 0.02, "ok"))
    (home / "runs" / run / "002" / "result.json").write_text('{"half')

    status, _, _ = assay("report", run, "-o", str(tmp_path / "a.html"))
    text = (tmp_path / "a.html").read_text()

    assert status == 0
    assert "1 of 2 cases have none yet" in text
    assert "What cannot be read" in text
    assert "mnist-mlp@jax" in text


def test_a_run_without_a_result_yet_can_be_reported(assay, home, tmp_path):
    with closing(open_store(home)) as store:
        run = store.new_run(Plan(cases=(CASE, OTHER))).name

    status, _, _ = assay("report", run, "-o", str(tmp_path / "a.html"))

    assert status == 0
    assert "still running, or it was interrupted" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("last", "-o", "a.pdf"), "does not end in .html"),
        (("last", "-o", "no/such/a.html"), "is not there"),
        (("nothing", "-o", "a.html"), "There is no run named 'nothing'"),
    ],
)
def test_what_cannot_be_is_said(words, said, assay, keep):
    keep((CASE, 0.01, "ok"))

    status, _, err = assay("report", *words)

    assert status == 2
    assert said in err

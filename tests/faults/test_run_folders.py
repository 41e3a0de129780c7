"""Files in a run folder that are no plain files or have names that are no text: nothing hangs."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

import assay as lab
from assay.core.registry import open_store
from assay.formats.traces.read import find_trace
from assay.monitors.sources import series
from tests.kept_runs import CASE

NAME = b"log-\xff.txt"  # not UTF-8


@pytest.fixture
def case(keep, home) -> Path:
    return home / "runs" / keep((CASE, 0.01, "ok")) / "001"


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.real("jinja2")
@pytest.mark.parametrize("make", [_pipe, _endless])
@pytest.mark.parametrize("name", ["process_info.log", "worker.log", "log.gz", "other.log"])
def test_a_page_reads_plain_files_only(case, home, tmp_path, name, make):
    (case / name).unlink(missing_ok=True)
    make(case / name)

    assert lab.report(case.parent.name, tmp_path / "it.html", store=home).stat().st_size


@pytest.mark.real("jinja2")
def test_a_name_that_is_not_utf_8_stops_no_report_or_site(case, home, tmp_path):
    (case / os.fsdecode(NAME)).write_bytes(b"x")

    lab.report(case.parent.name, tmp_path / "it.html", store=home)
    lab.publish(tmp_path / "site", store=home)

    page = (tmp_path / "site" / "runs" / case.parent.name / "001" / "index.html").read_text()
    assert "1 files have names that are not UTF-8" in page


def test_an_import_skips_and_names_it(case, tmp_path):
    (case / os.fsdecode(NAME)).write_bytes(b"x")
    folder = shutil.copytree(case.parent, tmp_path / case.parent.name)

    with closing(open_store(tmp_path / "other")) as store:
        assert store.adopt(folder) == [f"{case.parent.name}/001"]
        assert any("is not UTF-8, and was skipped" in problem for problem in store.problems)


def test_a_run_with_such_a_name_is_not_packed(case, home):
    (case / os.fsdecode(NAME)).write_bytes(b"x")

    with pytest.raises(lab.AssayError, match="not UTF-8"):
        lab.pack("2100", store=home)
    assert (case / "result.json").exists()


@pytest.mark.parametrize("make", [_pipe, _endless])
def test_samples_of_what_is_no_plain_file_are_none(tmp_path, make):
    make(tmp_path / "process_info.log")

    assert series.read(tmp_path / "process_info.log") == []


def test_a_pipe_is_no_trace(tmp_path):
    _pipe(tmp_path / "a.xplane.pb")

    assert find_trace(tmp_path) is None

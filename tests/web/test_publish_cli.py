"""assay publish: a folder of pages, and folders it does not touch."""

from __future__ import annotations

import json

import pytest

from tests.kept_runs import CASE

pytestmark = pytest.mark.real("jinja2")


def test_every_page_lies_beside_its_json(assay, keep, tmp_path):
    run = keep((CASE, 0.01, "ok"))

    status, out, _ = assay("publish", str(tmp_path / "site"))
    pages = sorted((tmp_path / "site").rglob("index.html"))

    assert status == 0
    assert out.strip() == str(tmp_path / "site")
    assert tmp_path / "site" / "runs" / run / "001" / "index.html" in pages
    for page in pages:
        assert json.loads(page.with_name("index.json").read_text())["schema"] == 1


def test_it_can_be_published_again(assay, keep, tmp_path):
    keep((CASE, 0.01, "ok"))
    assay("publish", str(tmp_path / "site"))
    run = keep((CASE, 0.01, "ok"))

    status, _, _ = assay("publish", str(tmp_path / "site"))

    assert status == 0
    assert run in (tmp_path / "site" / "index.html").read_text()


def test_a_folder_of_others_is_left_alone(assay, keep, tmp_path):
    keep((CASE, 0.01, "ok"))
    (tmp_path / "mine.txt").write_text("mine")

    status, _, err = assay("publish", str(tmp_path))

    assert status == 2
    assert "was not made by assay publish" in err
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["mine.txt"]

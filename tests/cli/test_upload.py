"""assay upload: its table, its exit status, and runs that upload by themselves."""

from __future__ import annotations

import json

from tests.kept_runs import CASE


def test_a_run_is_sent_and_its_places_shown(assay, keep, tmp_path):
    run = keep((CASE, 0.01, "ok"))

    status, out, _ = assay("upload", run, "--metrics", str(tmp_path / "m.jsonl"))
    assert status == 0 and "1 row sent" in out

    words = ("upload", "last", "--objects", str(tmp_path / "o"), "--format", "json")
    (one,) = json.loads(assay(*words)[1])["uploads"]
    assert one["arrived"] and one["sent"] > 0


def test_what_does_not_arrive_leaves_with_1(assay, keep, tmp_path):
    run = keep((CASE, 0.01, "ok"))
    (tmp_path / "file").touch()

    status, out, _ = assay("upload", run, "--metrics", str(tmp_path / "file" / "m.jsonl"))

    assert status == 1
    assert "assay upload --pending" in out


def test_wrong_places_leave_with_2(assay, keep):
    run = keep((CASE, 0.01, "ok"))

    assert assay("upload", run, "--bigquery", "nowhere")[0] == 2
    assert assay("upload")[0] == 2

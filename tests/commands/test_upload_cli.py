"""assay upload: its table, its exit status, and runs that upload by themselves."""

from __future__ import annotations

import json

import pytest

from tests.kept_runs import CASE


@pytest.mark.real("fsspec")
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


def test_commands_upload_by_themselves_where_settings_say_so(assay, folder, home, tmp_path):
    """A task, a comparison, the driver; what cannot be sent loses no result."""
    home.mkdir(exist_ok=True)
    sent = tmp_path / "m.jsonl"
    (home / "sinks.toml").write_text(f'metrics = "{sent}"\n')

    for words, rows in (
        (("task", "run", "--", "echo", "speed 3"), 1),
        (("ab", "--cmd", "true", "--cmd", "echo", "--pairs", "1", "--budget", "5s"), 2),
        (("driver", "--task-name", "lacks_one"), 1),
    ):
        before = len(sent.read_text().splitlines()) if sent.exists() else 0
        _, _, err = assay(*words)
        assert f"metrics {sent}" in err and "sent" in err
        assert len(sent.read_text().splitlines()) == before + rows

    (home / "sinks.toml").write_text("bigqery = 'x'\n")
    status, _, err = assay("task", "run", "--", "echo", "speed 3")
    assert status == 0 and "not uploaded: " in err


def test_wrong_places_leave_with_2(assay, keep):
    run = keep((CASE, 0.01, "ok"))

    assert assay("upload", run, "--bigquery", "nowhere")[0] == 2
    assert assay("upload")[0] == 2

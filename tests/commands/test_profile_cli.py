from __future__ import annotations

import json
from pathlib import Path

import pytest

CASE = "mnist-mlp:batch_size=16,units=32,hidden=2@torch"


@pytest.mark.real("torch")
def test_the_table_is_the_output_and_how_to_open_the_trace_is_said(assay, home):
    status, out, err = assay("profile", CASE, "--steps", "2", "--top", "3")

    lines = out.splitlines()
    assert status == 0
    assert lines[0].split() == ["operation", "time", "share", "count", "where"]
    assert len(lines) == 2 + 3 + 1
    assert "more operations took" in lines[-1]
    assert "https://ui.perfetto.dev" in err
    assert f"tensorboard --logdir {home}" in err


@pytest.mark.real("torch")
def test_json_has_plain_numbers_and_the_place_of_the_trace(assay, tmp_path):
    status, out, _ = assay(
        *("profile", CASE, "--steps", "1", "--top", "2", "--format", "json"),
        *("-o", str(tmp_path / "copy")),
    )

    found = json.loads(out)
    assert (status, found["kind"], found["status"]) == (0, "profile", "ok")
    assert Path(found["trace"]).is_file() and found["folder"] == str(tmp_path / "copy")
    assert [set(one) >= {"name", "seconds", "share", "count"} for one in found["operations"]] == [
        True,
        True,
    ]


def test_a_backend_without_a_profiler_is_status_three(assay, endings):
    status, out, err = assay("profile", f"{endings}:fine@python")

    assert (status, out) == (3, "")
    assert "error: The backend 'python' has no profiler." in err


@pytest.mark.real("torch")
def test_a_case_that_fails_is_kept_and_its_log_is_named(assay, tmp_path):
    file = tmp_path / "broken.py"
    file.write_text("import torch\ndef net():\n    raise ValueError('no such layer')\n")

    status, out, err = assay("profile", f"{file}:net@torch")

    assert (status, out) == (1, "")
    assert "failed: ValueError: no such layer" in err
    assert "worker.log" in err

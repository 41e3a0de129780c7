"""assay configs: files of configurations as a user has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.native.hpvm.test_configs import PLAIN


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("confs.txt").write_text(PLAIN)
    return Path("confs.txt")


def test_a_file_is_checked_and_listed(assay, file):
    status, out, error = assay("configs", "check", "confs.txt", "--format", "json")

    assert status == 0, error
    document = json.loads(out)
    assert [each["name"] for each in document["configurations"]] == ["conf1", "conf2"]
    assert any("emulated here" in note for note in document["notes"])
    assert "2 configurations" in error


def test_a_mistake_has_its_line_and_a_status(assay, file):
    file.write_text(PLAIN.replace("tanh fp16 1", "tanh fp17 1"))

    status, out, error = assay("configs", "check", "confs.txt")

    assert (status, out) == (2, "")
    assert "error: confs.txt, line 10: 'fp17' is no knob" in error


@pytest.mark.real("keras", "jax")
def test_another_networks_file_is_refused(assay, file):
    status, _, error = assay("configs", "check", "confs.txt", "--model", "lenet")

    assert status == 2
    assert "line 4: line 1 of lenet is 'conv add tanh pool_max', not 'conv add tanh'" in error


def test_one_is_explained_line_by_line(assay, file):
    status, out, _ = assay("configs", "show", "confs.txt", "conf2")

    assert status == 0
    assert "1 of 2 rows, from 1 on, skipped, then interpolated, in half precision" in out
    assert assay("configs", "show", "confs.txt", "conf3")[0] == 2


def test_the_front_is_written(assay, file):
    slow = PLAIN.partition("+++++\n")[2].replace("conf1 1 1 84.98 0", "slow 0.5 1 84 0.9")
    file.write_text(PLAIN + "+++++\n" + slow.partition("+++++\n")[0])

    status, _, error = assay("configs", "sort", "confs.txt", "-o", "front.txt")

    assert status == 0, error
    assert Path("front.txt").read_text() == PLAIN

"""assay perfzero-setup: flags with underscores, times as JSON."""

from __future__ import annotations

import json


def test_a_dry_run_prints_the_containerfile_and_the_times(assay):
    words = ("--tensorflow_pip_spec=tensorflow==2.21.0", "--docker_tag=perfzero/tf", "--dry-run")
    status, out, _ = assay("perfzero-setup", *words)

    assert status == 0
    assert "FROM python:3.11-slim" in out
    assert list(json.loads(out[out.rindex("{") :])) == ["build_docker"]


def test_a_wrong_flag_leaves_with_2(assay):
    assert assay("perfzero-setup", "--docker_tag=a b")[0] == 2

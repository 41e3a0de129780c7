"""assay perfzero-cloud: a dry run, and words that are wrong."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_cloud import compute

__all__ = ["compute"]
pytestmark = pytest.mark.real("google.cloud.compute_v1")
P = "--project=my-project"


def test_the_old_flags_make_the_old_machine(assay, compute):
    words = ("--username=me", "--accelerator_count=8", "--nvme_count=4", "--dry-run")
    status, out, _ = assay("perfzero-cloud", "create", P, *words)

    (one,) = json.loads(out)
    assert status == 0
    assert one["body"]["name"] == "perfzero-dev-me"
    assert one["body"]["machineType"].endswith("n1-standard-64")
    assert len(one["body"]["disks"]) == 5


def test_a_wrong_command_and_a_machine_that_is_not_there(assay, compute):
    assert assay("perfzero-cloud", "run_command", P)[0] == 2
    assert assay("perfzero-cloud", "status", P, "--username=me")[0] == 2
    assert assay("perfzero-cloud", "list_all", P)[0] == 0

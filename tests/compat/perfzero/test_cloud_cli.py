"""assay perfzero-cloud: a dry run, and words that are wrong."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from assay.commands.cloud import api
from assay.compat.perfzero import cloud as perfzero_cloud
from tests.commands.cloud.test_cloud_cli import compute

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


def test_dry_runs_print_what_the_client_library_sends_and_send_nothing(assay, compute, monkeypatch):
    monkeypatch.setattr(api, "_await_ssh", lambda *_: None)
    assert assay("perfzero-cloud", "create", P, "--username=me", "--no-clone")[0] == 0

    for command in ("status", "stop", "start", "list_all", "delete"):
        before = len(compute.asked)
        words = () if command == "list_all" else ("--username=me",)
        status, out, _ = assay("perfzero-cloud", command, P, *words, "--dry-run")
        assert status == 0 and len(compute.asked) == before

        yes = ("--yes",) if command == "delete" else ()
        assert assay("perfzero-cloud", command, P, *words, *yes)[0] == 0

        sent = [(method, path) for method, path, _ in compute.asked[before:]]
        printed = [(each["method"], each["path"].partition("?")[0]) for each in json.loads(out)]
        assert list(dict.fromkeys(printed)) == [
            pair for pair in dict.fromkeys(sent) if "/operations/" not in pair[1]
        ]


def test_a_dry_run_of_a_name_that_is_no_machine_is_refused(assay, compute):
    status, _, error = assay("perfzero-cloud", "stop", P, "--username=$(id)", "--dry-run")

    assert status == 2 and "is not a machine" in error


@pytest.fixture
def ssh(tmp_path, monkeypatch):
    """A program ssh that runs what it is told in a folder here; the repository lies here too."""
    programs, there, origin = (tmp_path / name for name in ("bin", "there", "origin"))
    for folder in (programs, there):
        folder.mkdir()
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q", str(origin)], ["-C", str(origin), *who, "commit", "-q"]):
        more = ["--allow-empty", "-m", "first"] if "commit" in words else []
        subprocess.run(["git", *words, *more], check=True)
    scripts = {
        "ssh": f'echo "$@" >> {tmp_path}/asked\ntest -e {tmp_path}/away && exit 255\n'
        f'cd {there} && eval "${{@: -1}}"',
        "sudo": 'test "$1" = usermod',
    }
    for name, text in scripts.items():
        (programs / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{origin}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/tensorflow/benchmarks.git")
    monkeypatch.setattr(perfzero_cloud, "PAUSE", 0.0)
    monkeypatch.setattr(api, "_await_ssh", lambda *_: None)
    return tmp_path


def test_a_new_machine_gets_the_repository_by_ssh(assay, compute, ssh):
    words = ("--username=me", "--ssh-key-file=/keys/mine")
    status, out, err = assay("perfzero-cloud", "create", P, *words)

    assert (status, "RUNNING" in out) == (0, True), err
    assert (ssh / "there" / "benchmarks" / ".git").is_dir()
    first = (ssh / "asked").read_text().splitlines()[0]
    assert "BatchMode=yes" in first and "-i /keys/mine me@127.0.0.1 test -d benchmarks" in first


def test_a_machine_that_lets_nobody_in_stays_and_that_is_said(assay, compute, ssh):
    (ssh / "away").touch()
    status, out, err = assay("perfzero-cloud", "create", P, "--username=me")

    assert status == 3 and "RUNNING" in out and "The machine runs, but" in err
    assert len((ssh / "asked").read_text().splitlines()) == perfzero_cloud.TRIES
    assert len(compute.instances) == 1
    assert assay("perfzero-cloud", "delete", P, "--username=me", "--yes")[0] == 0
    assert assay("perfzero-cloud", "create", P, "--username=me", "--no-clone")[0] == 0


def test_a_wrong_command_and_a_machine_that_is_not_there(assay, compute):
    assert assay("perfzero-cloud", "run_command", P)[0] == 2
    assert assay("perfzero-cloud", "status", P, "--username=me")[0] == 2
    assert assay("perfzero-cloud", "list_all", P)[0] == 0

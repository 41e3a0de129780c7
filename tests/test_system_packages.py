"""tools/system_packages.sh, with programs of our own in the place of the system's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "system_packages.sh"


@pytest.fixture
def system(tmp_path):
    """A machine with these programs, and a user of it: words → status, calls, complaint."""
    programs = tmp_path / "bin"
    programs.mkdir()
    calls = tmp_path / "calls"

    def put(name: str, script: str) -> None:
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)

    put("env", 'while case $1 in *=*) true;; *) false;; esac; do shift; done; exec "$@"')

    def call(
        *words: str,
        user: int,
        having: tuple[str, ...] = (),
        unknown: str = "none",
        **variables: str,
    ) -> tuple[int, list[str], str]:
        put("id", f"echo {user}")
        for name in having:
            put(name, f'echo {name} "$@" >> {calls}; case "$*" in *{unknown}*) exit 100;; esac')
        if "sudo" in having:
            put("sudo", f'echo sudo "$@" >> {calls}; shift; exec "$@"')
        if "locked-sudo" in having:
            put("sudo", "exit 1")
        put("true", "exit 0")
        put("mkdir", 'exec /bin/mkdir "$@"')
        done = subprocess.run(
            ["/bin/sh", str(SCRIPT), *words],
            env={"PATH": str(programs), **variables},
            capture_output=True,
            text=True,
        )
        made = calls.read_text().splitlines() if calls.exists() else []
        return done.returncode, made, done.stderr

    return call


INSTALLED = ["apt-get update -q", "apt-get install -q -y --no-install-recommends g++ postgresql"]


def test_nothing_is_done_where_the_programs_are_there(system):
    assert system("g++", "psql=postgresql", user=1, having=("g++", "psql")) == (0, [], "")


def test_root_updates_then_installs_what_is_missing(system):
    words = ("g++", "psql=postgresql", "make")

    assert system(*words, user=0, having=("apt-get", "make")) == (0, INSTALLED, "")


def test_others_install_with_a_sudo_that_asks_nothing(system):
    status, calls, _ = system("g++", "psql=postgresql", user=7, having=("apt-get", "sudo"))

    assert status == 0
    assert [call for call in calls if call.startswith("apt-get")] == INSTALLED


CANNOT = [(7, ("apt-get",)), (7, ("apt-get", "locked-sudo")), (0, ())]


@pytest.mark.parametrize(("user", "having"), CANNOT)
@pytest.mark.parametrize(("ci", "expected"), [("", 0), ("true", 1)])
def test_who_cannot_install_reads_what_is_missing_once(system, user, having, ci, expected):
    status, calls, message = system("g++", "psql=postgresql", user=user, having=having, CI=ci)

    assert (status, calls) == (expected, [])
    assert "Not installed here: g++ postgresql." in message
    assert len(message.splitlines()) == 1


def test_a_package_that_the_system_does_not_have_stops_no_other(system):
    words = ("g++", "psql=postgresql", "qemu")

    status, calls, message = system(*words, user=0, having=("apt-get",), unknown="postgresql")

    assert status == 0
    assert [call.split()[-1] for call in calls[2:]] == ["g++", "postgresql", "qemu"]
    assert message.startswith("Not installed here: postgresql. ")


def test_downloads_are_kept_in_a_folder_that_a_job_can_cache(system, tmp_path):
    folder = tmp_path / "cache"

    status, calls, _ = system("g++", user=0, having=("apt-get",), ASSAY_APT_CACHE=str(folder))

    assert status == 0
    assert f"-o Dir::Cache::archives={folder} -o APT::Keep-Downloaded-Packages=true" in calls[1]
    assert calls[1].endswith(" g++")
    assert (folder / "partial").is_dir()

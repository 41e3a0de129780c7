"""assay perfzero-setup: flags with underscores, times as JSON."""

from __future__ import annotations

import json

import pytest


def test_a_dry_run_prints_the_containerfile_and_the_times(assay):
    words = ("--tensorflow_pip_spec=tensorflow==2.21.0", "--docker_tag=perfzero/tf", "--dry-run")
    status, out, _ = assay("perfzero-setup", *words)

    assert status == 0
    assert "FROM python:3.11-slim" in out
    assert list(json.loads(out[out.rindex("{") :])) == ["build_docker"]


def test_a_wrong_flag_leaves_with_2(assay):
    assert assay("perfzero-setup", "--docker_tag=a b")[0] == 2


@pytest.fixture
def engines(tmp_path, monkeypatch):
    """Programs docker, podman and buildah that write down what they are asked."""
    folder, asked = tmp_path / "bin", tmp_path / "asked"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("shutil.which", lambda name: next(iter(folder.glob(name)), None))

    def install(name, daemon=True, builds=True):
        script = f"""#!/bin/sh
echo {name} "$@" >> {asked}
case "$1" in
  version) exit {int(not daemon)} ;;
  build*) echo no disk >&2; exit {int(not builds)} ;;
esac
"""
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)

    install.asked = lambda: asked.read_text().splitlines()
    return install


@pytest.mark.parametrize(
    ("installed", "used"),
    [
        ({"docker": True, "podman": True}, "docker"),
        ({"docker": False, "buildah": True}, "buildah"),
        ({"docker": False, "podman": True, "buildah": True}, "podman"),
        ({"docker": False}, "docker"),
    ],
)
def test_an_engine_whose_daemon_answers_builds(assay, folder, engines, installed, used):
    for name, daemon in installed.items():
        engines(name, daemon)
    place = folder / "perfzero" / "docker"
    place.mkdir(parents=True)
    (place / "Dockerfile_tf").write_text("FROM scratch")

    words = ("--dockerfile_path=docker/Dockerfile_tf", "--extra_docker_build_args", "A=1", "B=2")
    status, _, error = assay("perfzero-setup", *words)

    assert status == 0, error
    (built,) = [line for line in engines.asked() if " build " in line]
    assert built.startswith(f"{used} build")
    assert "--build-arg A=1 --build-arg B=2" in built


def test_a_build_that_fails_names_the_dockerfile_that_is_still_there(assay, folder, engines):
    engines("docker", builds=False)
    (folder / "Dockerfile_tf").write_text("FROM scratch")

    status, _, error = assay("perfzero-setup", f"--dockerfile_path={folder}/Dockerfile_tf")

    assert status == 1 and "docker build failed: no disk" in error
    assert f"To see it: docker build -f {folder}/Dockerfile_tf" in error


def test_a_value_alone_is_refused(assay):
    status, _, error = assay("perfzero-setup", "B=2", "--dry-run")

    assert status == 2 and "'B=2' stands alone" in error

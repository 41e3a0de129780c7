"""assay image and assay run --in: words on their way to an engine."""

from __future__ import annotations

import pytest

ENGINE = '#!/bin/sh\necho "$0 $@" >> {log}\ncase "$1" in image) echo sha256:abc;; esac\n'


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A podman that writes down what it is asked for."""
    log = tmp_path / "log"
    program = tmp_path / "bin" / "podman"
    program.parent.mkdir()
    program.write_text(ENGINE.format(log=log))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    return log


def test_a_containerfile_is_printed_without_an_engine(assay):
    status, out, _ = assay("image", "build", "--framework", "torch", "--no-build")

    assert status == 0
    assert "FROM python:3.11-slim" in out and "assay-lab[torch]==" in out


def test_build_asks_the_engine_and_prints_the_digest(assay, engine):
    words = ("image", "build", "--framework", "jax", "--tag", "assay/jax", "--engine", "podman")
    status, out, _ = assay(*words)

    assert (status, out) == (0, "sha256:abc\n")
    assert " build -f " in engine.read_text() and "-t assay/jax" in engine.read_text()


def test_run_in_hands_on_the_words_but_its_own(assay, engine, home, monkeypatch):
    monkeypatch.setattr("assay.platforms.images.engines.ENGINES", ("podman",))

    status, _, _ = assay("run", "mnist-mlp", "--in", "a/b:1", "-b", "torch", "--home", str(home))

    assert status == 0
    last = engine.read_text().splitlines()[-1]
    assert last.endswith(" -e ASSAY_IMAGE=sha256:abc a/b:1 assay run mnist-mlp -b torch")
    assert f"-v {home}:/results:rw" in last


def test_wrong_words_leave_with_2(assay):
    assert assay("image", "build", "--framework", "pytorch", "--no-build")[0] == 2
    assert assay("image", "run", "--image", "UPPER CASE", "--", "assay")[0] == 2

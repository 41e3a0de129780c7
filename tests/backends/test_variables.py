"""A worker's world is its own: the user's settings and another environment do not leak in."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from assay.commands.run import api
from assay.core.records import Procedure
from tests.backends.opened import SMALL, opened

HOSTILE = {
    "backend": "torch",
    "floatx": "float64",
    "epsilon": 0.1,
    "image_data_format": "channels_first",
}
QUICK = Procedure(samples=1, budget=0.1)


@pytest.mark.real("keras", "jax", "torch")
def test_the_users_keras_json_changes_no_number(tmp_path, monkeypatch):
    text = f"{SMALL['mnist-mlp']}@keras-jax"
    with opened(text, tmp_path / "plain") as session:
        facts, outputs = session.facts, session.outputs()
    for folder in (tmp_path / "home" / ".keras", tmp_path / "keras-home"):
        folder.mkdir(parents=True)
        (folder / "keras.json").write_text(json.dumps(HOSTILE))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras-home"))
    monkeypatch.setenv("KERAS_BACKEND", "torch")

    with opened(text, tmp_path / "hostile") as session:
        assert session.facts == facts
        assert (session.outputs() == outputs).all()
    assert facts["compute_dtype"] == "float32" and facts["data_format"] == "channels_last"


@pytest.mark.real("keras", "torch")
@pytest.mark.parametrize("backend", ["torch", "keras-torch"])
def test_facts_tell_what_really_runs(backend, tmp_path):
    text = f"{SMALL['mnist-mlp']}@{backend}:precision=bfloat16,threads=1,optimizer=adam"
    with opened(text, tmp_path) as session:
        facts = session.facts

    assert facts["threads"] == 1
    assert facts["device"] == "cpu"
    assert facts["parameter_dtype"] == "float32"
    assert facts["compute_dtype"] == facts["output_dtype"] == "bfloat16"
    assert facts["tf32"] is False and facts["cudnn_benchmark"] is True
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in facts["allocator"]
    assert facts["parameters"] == 784 * 16 + 16 + 16 * 16 + 16 + 16 * 10 + 10


@pytest.fixture
def bare(tmp_path) -> Path:
    """A virtual environment with nothing in it."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder


def lend(venv: Path, *packages: str) -> None:
    """Let the environment see some packages of this one, or all of them."""
    (inside,) = venv.glob("lib/python*/site-packages")
    here = Path(sysconfig.get_paths()["purelib"])
    if not packages:
        (inside / "lent.pth").write_text(f"{here}\n")
    for package in packages:
        for found in here.glob(f"{package}*"):
            (inside / found.name).symlink_to(found)


def test_an_environment_without_the_framework_is_skipped_in_words(bare):
    lend(bare, "msgspec", "numpy")

    (result,) = api.run("mnist-mlp@jax", options={"python": [str(bare)]}, procedure=QUICK)

    assert result.status == "skipped"
    assert f"in {bare}, jax is not installed" in result.reason


@pytest.mark.real("jax")
def test_another_environment_is_measured(bare):
    lend(bare)

    (result,) = api.run(
        f"{SMALL['mnist-mlp']}@jax", options={"python": [str(bare)]}, procedure=QUICK
    )

    assert result.status == "ok"
    assert str(bare) in str(result.environment.python["executable"])

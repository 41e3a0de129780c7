"""Folders that cannot be written, and builds that are killed: a sentence, and nothing half made."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time

import msgspec
import pytest

from assay.native.hpvm import program
from tests.native.hpvm.making import ran
from tests.native.hpvm.test_config_sets import KNOBS, LINES, text

pytestmark = pytest.mark.real("compiler")

# Everything that writes to a folder of the user's, in one process.
WRITING = """
import sys
import msgspec
from assay.core.errors import AssayError
from assay.native.hpvm.builder import ModelSettings
from assay.native.hpvm.frontend import write_sources, write_weights
from assay.native.hpvm.lowering import dataflow
from assay.native.hpvm.program import compile_program
from tests.native.hpvm.making import residual_net

source, settings = sys.argv[1], msgspec.json.decode(sys.argv[2], type=ModelSettings)
flow = dataflow(residual_net())
for work in (
    lambda: compile_program(source, "read only/HPVM_binary", settings),
    lambda: write_sources(flow, "read only/src", "read only", {"test": 1, "tune": 1}, 1),
    lambda: write_weights(flow, "read only"),
):
    try:
        work()
        print("written")
    except AssayError as error:
        print(error)
"""


def give_up_rights():
    """Root writes and reads where it likes; not so what it starts after this."""
    drop_from_bounds, override, read_search = 24, 1, 2  # of prctl and capabilities
    for right in (override, read_search):
        ctypes.CDLL(None).prctl(drop_from_bounds, right, 0, 0, 0)


def as_user(words, folder, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY")}
    return subprocess.run(
        [*map(str, words)],
        preexec_fn=give_up_rights,
        cwd=folder,
        env={**kept, "ASSAY_CHOOSE": "0", "ASSAY_THREADS": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def read_only(tmp_path):
    folder = tmp_path / "read only"
    folder.mkdir()
    folder.chmod(0o555)
    if as_user(["touch", folder / "file"], tmp_path).returncode == 0:
        pytest.skip("needs a user who may not write everywhere")
    yield folder
    folder.chmod(0o755)


def test_a_folder_that_may_only_be_read_is_named_and_nothing_is_left(
    made, settings, read_only, tmp_path
):
    words = [sys.executable, "-c", WRITING, made / "approxhpvm_src.cc"]
    ended = as_user(
        [*words, msgspec.json.encode(settings).decode()], tmp_path, PYTHONPATH=os.getcwd()
    )
    here = as_user([made / "HPVM_binary"], read_only)

    said = ended.stdout.splitlines()
    assert len(said) == 3, ended.stderr
    assert all("read only" in each and "cannot be" in each for each in said), said
    assert here.returncode == 2
    assert here.stderr == "error: final_accuracy cannot be written.\n"
    assert list(read_only.iterdir()) == []


def test_a_configuration_beside_a_binary_that_may_only_be_read(made, read_only, tmp_path):
    read_only.chmod(0o755)
    shutil.copytree(
        made, read_only, dirs_exist_ok=True, ignore=shutil.ignore_patterns("hpvm_fifo*", "*-*")
    )
    (read_only / "hpvm_models").chmod(0o555)
    (tmp_path / "confs.txt").write_text(text([KNOBS[1], *LINES[1:]]))

    exact = as_user([read_only / "HPVM_binary"], tmp_path)
    other = as_user([read_only / "HPVM_binary", "-c", "confs.txt"], tmp_path)
    (read_only / "hpvm_models").chmod(0o755)

    assert exact.returncode == 0, exact.stderr
    assert other.returncode == 1
    assert "hpvm_models cannot be written (Permission denied)" in other.stderr


# A build that stops in the middle, as one that takes long does when it is killed.
SLOW = (
    "import sys, time; from assay.native.hpvm import builder; from assay.worker import hpvm_model; "
    "builder.build = lambda *_: time.sleep(600); sys.exit(hpvm_model.main())"
)


def test_a_build_that_was_killed_is_done_again(made, settings, tmp_path):
    binary, models = tmp_path / "HPVM_binary", tmp_path / "hpvm_models"
    shutil.copy(made / "HPVM_binary", binary)
    command = [sys.executable, "-c", SLOW, msgspec.json.encode(settings).decode()]
    begun = subprocess.Popen(
        [binary],
        cwd=tmp_path,
        env={**os.environ, "ASSAY_HPVM_BUILD": "\n".join(command)},
        start_new_session=True,
    )
    while not list(models.glob(".building-*")):
        assert begun.poll() is None
        time.sleep(0.05)
    os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()

    assert "was not built for these weights" in ran(binary, tmp_path).stderr
    program.build_models(binary, tmp_path, settings)
    assert ran(binary, tmp_path).returncode == 0

"""A program says which CPU it needs, and a portable one takes the best code the CPU can run."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.native import reference
from assay.native.toolchain import toolchain
from tests.native.built import compiled, write_data
from tests.native.test_emit import small

pytestmark = [
    pytest.mark.real("compiler", "qemu"),
    pytest.mark.skipif(
        platform.machine() != "x86_64", reason="not applicable: levels are of x86-64"
    ),
]

IMAGES = np.random.default_rng(5).normal(size=(3, 2, 6, 6)).astype(np.float32)


def quick():
    """Compiled as fast as can be: it is run a few times on a CPU that is imitated. A warning is an
    error, so that the code of every level is clean of them."""
    tools = toolchain("portable", portable=True)
    flags = tuple("-O0" if flag == "-O3" else flag for flag in tools.flags)
    return msgspec.structs.replace(tools, flags=(*flags, "-Werror"))


def on(cpu, built, folder, *words):
    command = [shutil.which("qemu-x86_64"), "-cpu", cpu, str(built.program), "--data", str(folder)]
    command += ["--choose", "0", "--threads", "1", "--outputs", str(folder / "out.bin"), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path):
    write_data(tmp_path, IMAGES, np.zeros(3))
    return tmp_path


def test_a_lesser_cpu_is_told_what_it_lacks(plain_tools, native_cache, folder):
    if "avx2" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("not applicable: this CPU has no more than the one that is imitated")
    _, built = compiled(small("wide"), plain_tools, native_cache)

    ended = on("Nehalem", built, folder)

    assert ended.returncode == 3
    said = ended.stderr.splitlines()[-1]
    assert said.startswith("error: This was compiled for a CPU with avx, avx2, ")
    assert "assay compile --portable" in said


@pytest.mark.parametrize("cpu", ["Haswell", "qemu64"])
def test_a_portable_program_runs_on_any_cpu_of_its_kind(cpu, native_cache, folder):
    _, built = compiled(small("any"), quick(), native_cache)
    wanted = reference.outputs(small(), IMAGES.transpose(0, 2, 3, 1))[0]

    ended = on(cpu, built, folder)

    assert ended.returncode == 0
    found = np.fromfile(folder / "out.bin", np.float32).reshape(wanted.shape)
    np.testing.assert_allclose(found, wanted, atol=1e-5)

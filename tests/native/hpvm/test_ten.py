"""HPVM's ten networks as HPVM-C: compiled by both compilers without a warning, and right."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

from assay.native import reference
from assay.native.capture import capture
from assay.native.hpvm import program
from assay.native.hpvm.builder import ModelSettings
from assay.native.hpvm.frontend import ImageSet, write_images, write_sources, write_weights
from assay.native.hpvm.lowering import dataflow, with_softmax
from tests.native.hpvm.making import launched, network_of
from tests.native.test_nets import IN_HPVM, built

pytestmark = [pytest.mark.long, pytest.mark.real("keras", "jax", "compiler")]
FLAGS = ("-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")


@pytest.mark.parametrize("name", IN_HPVM)
def test_a_network_gives_the_oracles_outputs_and_no_warning(
    name, keras, tmp_path, native_cache, monkeypatch
):
    job = built(name)
    graph = with_softmax(capture(job.model, name))
    images = np.asarray(job.train_batch[0], np.float32)[:2]
    flow = dataflow(graph)
    data = ImageSet(labels=np.zeros(len(images)), parts=(np.moveaxis(images, -1, 1),))
    for each in ("test", "tune"):
        write_images(each, data, tmp_path / "data")
    write_weights(flow, tmp_path / "data")
    counts = {"test": len(images), "tune": len(images)}
    src = write_sources(flow, tmp_path / "src", tmp_path / "data", counts, len(images))
    for compiler in filter(shutil.which, ("g++", "clang++")):
        command = [compiler, *FLAGS, f"-I{program.SHIM}", *map(str, src.glob("*.cc"))]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")

    settings = ModelSettings(kernels="portable", cache=str(native_cache))
    monkeypatch.setenv("ASSAY_OUTPUTS", str(tmp_path / "outputs.bin"))
    monkeypatch.setenv("ASSAY_CHOOSE", "0")
    binary = program.compile_program(src / "approxhpvm_src.cc", src / "HPVM_binary", settings)
    assert network_of(launched(binary, tmp_path)) == network_of(graph)
    found = program.execute(binary, (), tmp_path, settings=settings, threads=1)

    assert found.status == 0, found.error
    outputs = np.fromfile(tmp_path / "outputs.bin", np.float32).reshape(len(images), -1)
    (wanted,) = reference.outputs(graph, images)
    np.testing.assert_allclose(outputs, wanted, atol=1e-4 * wanted.max(), rtol=0)

"""A small network as HPVM-C, built once: its sources, data and both binaries."""

from __future__ import annotations

import numpy as np
import pytest

from assay.native import reference
from assay.native.hpvm.builder import ModelSettings
from assay.native.hpvm.frontend import ImageSet, write_images, write_sources, write_weights
from assay.native.hpvm.lowering import dataflow
from assay.native.hpvm.program import build_models, compile_program
from tests.native.hpvm.making import IMAGES, residual_net


@pytest.fixture(scope="session")
def settings(native_cache):
    return ModelSettings(kernels="portable", cache=str(native_cache))


@pytest.fixture(scope="session")
def oracle():
    (found,) = reference.outputs(residual_net(), IMAGES, dtype=np.float64)
    return found


@pytest.fixture(scope="session")
def labels(oracle):
    """The oracle's own classes, but for the first two images."""
    found = oracle.argmax(1)
    found[:2] = (found[:2] + 1) % 10
    return found


@pytest.fixture(scope="session")
def made(settings, labels, tmp_path_factory):
    """Sources, data and both binaries, in folders with spaces in their names."""
    place = tmp_path_factory.mktemp("a place")
    flow = dataflow(residual_net())
    data = place / "the data"
    for name, part in (("test", IMAGES), ("tune", IMAGES[::-1])):
        wanted = labels if name == "test" else labels[::-1]
        write_images(name, ImageSet(labels=wanted, parts=(part[:3], part[3:])), data)
    write_weights(flow, data)
    src = write_sources(flow, place / "the src", data, {"test": 10, "tune": 10}, 4)
    for source, binary in (
        ("approxhpvm_src.cc", "HPVM_binary"),
        ("approxhpvm_tuner_src.cc", "HPVM_tuner_binary"),
    ):
        compile_program(src / source, src / binary, settings)
    build_models(src / "HPVM_binary", place, settings)
    return src

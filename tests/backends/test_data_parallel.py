"""Several devices: the gradients of one with the whole batch, and what cannot be shared."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.backends import data_parallel
from assay.core import registry
from assay.core.series import series_of
from tests.backends.opened import case, frameworks
from tests.stores.test_sqlite import result

SCRIPT = Path(__file__).parent / "shared_step.py"
SHARING = {"jax": "", "torch": "", "tensorflow": "", "keras-jax": ""}
SHARING |= {"keras-tensorflow": ",compiler=off"}


@pytest.mark.family(backend="devices")
@pytest.mark.parametrize(
    "backend", [pytest.param(b, marks=pytest.mark.real(*frameworks(b))) for b in SHARING]
)
def test_gradients_of_two_devices_are_those_of_one_with_the_whole_batch(backend, tmp_path):
    out = tmp_path / "gradients.npz"
    words = [sys.executable, str(SCRIPT), backend, SHARING[backend], str(out)]
    world = os.environ | {"PYTHONPATH": os.getcwd(), "OMP_NUM_THREADS": "1"}

    done = subprocess.run(words, env=world, capture_output=True, text=True, timeout=250)

    assert done.returncode == 0, done.stderr[-3000:]
    found = np.load(out)
    pairs = [(found[f"whole{n}"], found[f"shared{n}"]) for n in range(len(found.files) // 2)]
    assert len(pairs) == 4
    for whole, shared in pairs:
        assert np.abs(whole).max() > 1e-3
        np.testing.assert_allclose(shared, whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("torch:devices=3", "3 devices cannot share evenly"),
        ("jax:devices=2,mode=infer", "share the work of training only"),
        ("torch:devices=2,device='gpu:0'", "gpu:0"),
        ("tensorflow:devices=2,compiler=on", "compiler is on"),
        ("keras-tensorflow:devices=2", "compiler is on"),
        ("keras-torch:devices=2", "not yet on torch"),
    ],
)
def test_what_devices_cannot_share_is_refused_before_a_process_starts(text, reason):
    request = case(f"mnist-mlp:batch_size=4@{text}")

    assert reason in registry.backend(request.backend).refuses(request)


def test_one_device_is_what_it_was_before_there_could_be_several():
    request = case("mnist-mlp@jax")
    older = {name: value for name, value in request.options.items() if name != "devices"}

    now, before = (
        series_of(result("run", case=type(request)(workload="w", backend="b", options=options)))
        for options in (request.options, older)
    )

    assert now.id == before.id
    assert data_parallel.variables(request) == {}
    assert data_parallel.count(type(request)(workload="w", backend="b")) == 1

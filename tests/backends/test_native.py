"""The native backend infers what Keras would, and says what it chose."""

from __future__ import annotations

import numpy as np
import pytest

from assay import registry
from assay.engine import plan
from assay.native import toolchain
from assay.native.knobs.kept_items import keep_items
from tests.backends.opened import SMALL, opened
from tests.backends.test_same_outputs import expected, near


@pytest.mark.real("keras", "jax", "compiler")
def test_outputs_are_those_of_numpy(tmp_path, cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    text = f"{SMALL['cifar10-cnn']}@native:kernels=portable,threads=1"

    with opened(text, tmp_path) as session:
        session.step(3)
        found, facts = session.outputs(), session.facts

    assert near(found, expected("cifar10-cnn"))
    assert (facts["mode"], facts["threads"], facts["onednn"]) == ("infer", 1, False)
    assert "direct" in facts["kernels"] and "onednn" not in facts["kernels"]


CONFIG = """0
+++++
conf1 1 1 90 0
1 cpu mul int8 13 add fp32 11 relu fp32 11
2 cpu mul int8 13 add fp32 11 relu fp32 11
3 cpu mul int8 13 add fp32 11
-----
"""


@pytest.mark.real("keras", "jax", "compiler")
def test_a_configuration_is_run_with_the_ranges_kept_beside_it(tmp_path, cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    (tmp_path / "best.txt").write_text(CONFIG)
    keep_items(tmp_path, np.random.default_rng(0).random((50, 784), np.float32))
    text = f"{SMALL['mnist-mlp']}@native:kernels=portable,threads=1,config={tmp_path}/best.txt"

    with opened(text, tmp_path / "worker") as session:
        found, facts = session.outputs(), session.facts

    wanted = expected("mnist-mlp")
    assert "3 int8" in facts["kernels"]
    assert not near(found, wanted)  # they are bytes
    assert np.abs(found - wanted).max() < 0.1 * np.abs(wanted).max()


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")

    assert "apt-get install g++" in registry.backend("native").missing()


def test_onednn_that_is_not_here_is_refused_before_a_process_starts(monkeypatch):
    monkeypatch.setattr(toolchain, "onednn_folder", lambda: "")
    case = plan.resolve(plan.parse_case("mnist-mlp@native:kernels=onednn"))

    assert "pip install 'assay[native]'" in registry.backend("native").refuses(case)

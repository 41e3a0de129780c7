"""The native backend infers what Keras would, and says what it chose."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core import registry
from assay.core.case_text import parse_case
from assay.measure import plan
from assay.native import toolchain
from assay.native.knobs.calibration_file import save_items
from assay.workloads.net import nets
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
1 cpu conv int8 13 add fp32 1 relu fp32 1
2 cpu conv int8 13 add fp32 1 relu fp32 1 pool_max fp32 1
3 cpu conv int8 13 add fp32 1 relu fp32 1
4 cpu conv int8 13 add fp32 1 relu fp32 1 pool_max fp32 1
5 cpu mul int8 13 add fp32 1 relu fp32 1
6 cpu mul fp32 11 add fp32 1
-----
"""


@pytest.mark.real("keras", "jax", "compiler")
def test_a_configuration_is_run_with_the_ranges_kept_beside_it(tmp_path, cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    (tmp_path / "best.txt").write_text(CONFIG)
    net = registry.workload("cifar10-cnn").net(filters=4, units=8)
    save_items(tmp_path, np.moveaxis(nets.batch(net, 50, 1)[0], -1, 1))
    text = f"{SMALL['cifar10-cnn']}@native:kernels=portable,threads=1,config={tmp_path}/best.txt"

    with opened(text, tmp_path / "worker") as session:
        found, facts = session.outputs(), session.facts

    wanted = expected("cifar10-cnn")
    assert "5 int8" in facts["kernels"]
    assert not near(found, wanted)  # they are bytes
    assert np.abs(found - wanted).max() < 0.1 * np.abs(wanted).max()


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")

    assert "apt-get install g++" in registry.backend("native").missing()


def test_onednn_that_is_not_here_is_refused_before_a_process_starts(monkeypatch):
    monkeypatch.setattr(toolchain, "onednn_folder", lambda: "")
    case = plan.resolve(parse_case("mnist-mlp@native:kernels=onednn"))

    assert "pip install 'assay-lab[native]'" in registry.backend("native").refuses(case)

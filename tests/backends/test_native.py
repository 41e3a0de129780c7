"""The native backend infers what Keras would, and says what it chose."""

from __future__ import annotations

import pytest

from assay import registry
from assay.engine import plan
from assay.native import toolchain
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


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")

    assert "apt-get install g++" in registry.backend("native").missing()


def test_onednn_that_is_not_here_is_refused_before_a_process_starts(monkeypatch):
    monkeypatch.setattr(toolchain, "onednn_folder", lambda: "")
    case = plan.resolve(plan.parse_case("mnist-mlp@native:kernels=onednn"))

    assert "pip install 'assay[native]'" in registry.backend("native").refuses(case)

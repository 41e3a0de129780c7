"""A captured model is kept for the other processes of a run."""

from __future__ import annotations

import pytest

from assay.core import registry
from assay.core.settings import SHARED_CACHE
from tests.backends.opened import case


@pytest.mark.real("keras", "jax", "onnxruntime")
def test_the_second_process_needs_no_keras(keras, tmp_path, monkeypatch):
    monkeypatch.setenv(SHARED_CACHE, str(tmp_path))
    asked = case("mnist-mlp:units=8,batch_size=3@onnxruntime")
    backend, workload = registry.backend("onnxruntime"), registry.workload("mnist-mlp")

    def never():
        raise AssertionError("it was built again")

    with backend.open(lambda: workload.kinds["keras"](**asked.params), asked) as session:
        first, facts = session.outputs(), session.facts()
    with backend.open(never, asked) as session:
        assert session.outputs() == pytest.approx(first, abs=0)
        assert session.facts() == facts
        assert session.facts()["multiply_adds"] > 0
    other = case("mnist-mlp:units=9,batch_size=3@onnxruntime")
    with pytest.raises(AssertionError, match="built again"), backend.open(never, other):
        pass

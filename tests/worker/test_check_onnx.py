"""The process that checks an ONNX file writes the outcome, whatever that is."""

from __future__ import annotations

import os
import subprocess

import msgspec
import pytest

from assay.core import start
from assay.native.onnx.file_check import CheckRequest, read_outcome
from tests.native.test_onnx_import import one, written


@pytest.mark.real("onnx", "onnxruntime", "compiler")
@pytest.mark.parametrize(
    "kind, judge, problem",
    [("Tanh", "ONNX Runtime", ""), ("Det", "", "is a Det that cannot be compiled")],
)
def test_the_outcome_is_written(kind, judge, problem, cache_home, tmp_path):
    path = written(tmp_path / "net.onnx", one(kind), ("n", 3))
    place = tmp_path / "checks" / "outcome.json"
    request = CheckRequest(path=str(path), shapes={}, kernels="portable", outcome=str(place))
    text = msgspec.json.encode(request).decode()

    subprocess.run(
        [*start.command("assay.worker.check_onnx"), text],
        env={**os.environ, "XDG_CACHE_HOME": str(cache_home)},
        check=True,
    )

    outcome = read_outcome(place)
    assert outcome is not None
    assert outcome.judge == judge
    assert problem in outcome.problem and bool(outcome.problem) == bool(problem)


def test_an_outcome_that_cannot_be_read_is_none(tmp_path):
    (tmp_path / "outcome.json").write_text("{")

    assert read_outcome(tmp_path / "outcome.json") is None
    assert read_outcome(tmp_path / "none.json") is None

"""The process that builds the model of a launched graph: what is wrong is told in one sentence."""

from __future__ import annotations

import sys

from assay.worker import hpvm_model
from tests.native.hpvm.test_recording import written


def test_a_graph_that_cannot_be_is_told_with_a_status(tmp_path, monkeypatch, capsys):
    written(tmp_path, "something else")
    words = ["hpvm_model", "{}", str(tmp_path), str(tmp_path / "target")]
    monkeypatch.setattr(sys, "argv", words)

    assert hpvm_model.main() == 1

    assert "is no graph of an HPVM-C program" in capsys.readouterr().err
    assert not (tmp_path / "target").exists()

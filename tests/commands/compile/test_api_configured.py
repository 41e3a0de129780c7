"""What a compiled program takes a configuration by."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.commands.compile.api import CompileRequest, command_words, take_configurations
from assay.native.compile import InstalledProgram
from assay.native.hpvm.configs import parse
from tests.native.hpvm.making import residual_net
from tests.native.hpvm.test_config_sets import text
from tests.native.making import Making


@pytest.fixture
def made(tmp_path):
    return InstalledProgram(
        program=tmp_path / "net",
        files=(),
        layers=1,
        inputs=(),
        cached=False,
        onednn=False,
        judge="",
        difference=0.0,
    )


def test_a_program_has_its_lines_and_who_compiles_it(made, tmp_path):
    take_configurations(made, residual_net(), CompileRequest(model="lenet"))

    rows = (tmp_path / "net.lines").read_text().splitlines()
    wanted = [" ".join(line.ops) for line in parse(text()).configurations[0].lines]
    assert [row.partition("\t")[0] for row in rows] == wanted
    assert (tmp_path / "net.configs" / "build").read_text().splitlines()[-4:] == [
        *("lenet", "--program-only", "--kernels", "auto")
    ]


def test_what_was_built_for_another_program_is_gone(made, tmp_path):
    (tmp_path / "net.configs" / "old").mkdir(parents=True)

    take_configurations(made, residual_net(), CompileRequest())

    assert not (tmp_path / "net.configs").exists()


def test_a_network_that_hpvm_has_no_operations_for_takes_none(made, tmp_path):
    making = Making(4, 8, 8)
    graph = making.graph(making.conv(making.input, 8, 3, dilations=(2, 2)))

    take_configurations(made, graph, CompileRequest(model="lenet"))

    assert list(tmp_path.iterdir()) == []


def test_the_command_works_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_DATA", "data")
    request = CompileRequest(
        model="./my.py:Net",
        weights="w.npz",
        params={"units": 8},
        portable=True,
        kernel={"a": "direct"},
    )

    words = command_words(request)

    assert words[0] == "/usr/bin/env" and f"ASSAY_DATA={tmp_path}/data" in words
    assert words[words.index(sys.executable) :] == [
        *(sys.executable, "-P", "-m", "assay", "compile", f"{tmp_path}/my.py:Net"),
        *("--program-only", "--kernels", "auto", "--weights", f"{tmp_path}/w.npz", "--portable"),
        *("--set", "units=8", "--kernel", "a=direct"),
    ]
    model = command_words(CompileRequest(model="some/net.onnx"))
    assert f"{Path.cwd()}/some/net.onnx" in model

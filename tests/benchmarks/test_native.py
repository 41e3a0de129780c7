"""benchmarks/native.py: cells that are kept are shown with their means, and not measured again."""

from __future__ import annotations

import math
import runpy
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from assay.core.case_text import parse_case
from assay.core.executor import CaseDir
from assay.measure import plan
from assay.measure.case import HeatEntry
from assay.stats.paired_ratio import turns

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "native.py"


@pytest.fixture(scope="module")
def script() -> dict:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture
def figures(script, tmp_path):
    """A file of two cells: one net that has trained weights, one that has not."""
    made = [
        _cell(script, "lenet", {"onnxruntime": 2.0, "openvino": 4.0}),
        _cell(script, "Xception", {"onnxruntime": 0.5, "openvino": 0.6}),
    ]
    path = tmp_path / "figures.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, made)) + b"\n")
    return path


def _cell(script, net, ratios):
    return script["Cell"](
        net=net,
        batch=1,
        threads=1,
        weights="seeded",
        rounds=20,
        ratios={name: script["Ratio"](at, at * 0.95, at * 1.05) for name, at in ratios.items()},
        left_out={"torch.compile": "skipped: torch is not installed here"},
        milliseconds=1.5,
        kernels="2 direct",
        images_at_once=1,
        cpu="a CPU",
    )


def test_means_are_of_the_ratios_to_the_fastest(figures):
    shown = _ran("--show", "--output", str(figures))

    assert shown.returncode == 0, shown.stderr
    assert "all: geometric mean of best / native 1.000 over 2 cells" in shown.stdout
    assert "trained weights: geometric mean of best / native 2.000 over 1 cells" in shown.stdout
    assert "whole interval is below 1: 1" in shown.stdout
    assert "left out: torch.compile: skipped: torch is not installed here" in shown.stdout


def test_a_cell_that_is_kept_is_not_measured_again(figures):
    before = figures.read_bytes()

    ran = _ran("lenet", "Xception", "--batch", "1", "--threads", "1", "--output", str(figures))

    assert ran.returncode == 0, ran.stderr
    assert figures.read_bytes() == before


def test_contenders_take_as_many_turns_as_rounds_are_asked_for(script, endings, tmp_path):
    entries = []
    for name in ("native", "other"):
        (tmp_path / name).mkdir()
        case = plan.resolve(parse_case(f"{endings}:fine@python"))
        entries.append(HeatEntry(name, case, CaseDir(f"run/{name}", tmp_path / name)))

    heat = script["_heat"](entries, 3, math.inf)

    assert [len(turns(result, "step_time")) for result in heat.results.values()] == [3, 3]


def test_an_unknown_net_is_named():
    ran = _ran("lenett")

    assert ran.returncode == 2
    assert "there is no net lenett" in ran.stderr


def test_a_net_is_a_module_for_torch_and_a_keras_model_for_all_others(script):
    assert script["_case"]("lenet", 1, 2, "torch.compile").startswith("lenet:batch_size=1@torch:")
    assert script["_case"]("Xception", 8, 2, "torch.compile").endswith(
        "native_torch.py:application:batch_size=8,net=Xception@torch:compiler=on,mode=infer,threads=2"
    )
    assert script["_case"]("Xception", 8, 2, "native").endswith(
        "native_nets.py:Xception:batch_size=8@native:mode=infer,threads=2"
    )


def _ran(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True)

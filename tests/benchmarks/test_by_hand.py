"""benchmarks/by_hand.py: every configuration is a case, and a tiny one takes turns with assay."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.case_text import parse_case
from assay.measure import plan

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "by_hand.py"
sys.path.insert(0, str(SCRIPT.parent))
SCRIPTED = runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("tiny", [True, False])
@pytest.mark.parametrize("name", SCRIPTED["CONFIGURATIONS"])
def test_every_configuration_is_a_case_with_the_sizes_of_its_loop(name, tiny):
    one = SCRIPTED["CONFIGURATIONS"][name]

    asked = plan.resolve(parse_case(SCRIPTED["case"](one, tiny)))

    sizes = SCRIPTED["sizes"](one.wish, tiny)
    assert asked.params["batch_size"] == sizes["batch"]
    assert sizes.items() & asked.params.items() >= {
        (name, value) for name, value in sizes.items() if name in {"layers", "width", "length"}
    }
    assert (asked.params.get("task") == "generate") == bool(one.wish.get("generate"))


@pytest.mark.real("jax")
@pytest.mark.timeout(600)
def test_a_tiny_one_prints_both_times_and_their_ratio(tmp_path):
    kept = tmp_path / "kept.json"
    words = ["--tiny", "--rounds", "1", "--turns", "2", "--only", "generate-jax"]
    words += ["--json", str(kept)]
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr
    name, hand, lab, ratio, *_ = (
        cell.strip() for cell in ran.stdout.splitlines()[-1][2:].split("|")
    )
    assert name == "generate-jax"
    near = float(lab.removesuffix(" ms")) / float(hand.removesuffix(" ms"))
    assert near == pytest.approx(float(ratio), rel=0.1)
    (one,) = json.loads(kept.read_text())
    assert one["ratio"] == pytest.approx(one["assay_s"][0] / one["by_hand_s"][0])
    assert one["interval"] is None  # of one round


def test_a_name_that_begins_no_configuration_is_refused():
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), "resnet51"], capture_output=True, text=True, check=False
    )

    assert ran.returncode == 2 and "no configuration begins so: resnet51" in ran.stderr


def test_the_interval_of_three_rounds_is_students():
    assert SCRIPTED["interval"]([1.0, 1.0]) is None
    low, high = SCRIPTED["interval"]([0.99, 1.0, 1.01])
    assert (low, high) == pytest.approx((1 - 0.02484, 1 + 0.02484), abs=1e-4)

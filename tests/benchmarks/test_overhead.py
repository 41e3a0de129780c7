"""benchmarks/overhead.py runs, and its interval is that of the values it is given."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "overhead.py"


@pytest.mark.real("torch")
def test_a_quick_look_prints_a_ratio_with_its_interval():
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "torch"], capture_output=True, text=True
    )

    assert ran.returncode == 0, ran.stderr
    name, ratio, low, high, pairs = ran.stdout.splitlines()[1].split()[:5]
    assert name == "torch" and int(pairs) > 0
    assert float(low.strip("[,")) <= float(ratio) <= float(high.strip("]"))


def test_the_interval_holds_an_overhead_that_is_there():
    interval = runpy.run_path(str(SCRIPT))["interval"]
    logs = list(np.random.default_rng(1).normal(0.05, 0.02, 400))

    middle, low, high = interval(logs)

    assert low < 0.05 < high and low < middle < high
    assert low > 0.04

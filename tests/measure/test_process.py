"""A worker is watched while it works, and its peaks are known when it has ended."""

import json

import pytest

from assay.core.case_text import parse_case
from assay.core.errors import EndingError
from assay.core.messages import Open, Opened
from assay.measure import plan
from assay.measure.process import WorkerProcess

pytestmark = pytest.mark.real("jax", "keras")


@pytest.fixture
def case():
    return plan.resolve(parse_case("mnist-mlp:units=64,hidden=1@keras-jax"))


def test_a_worker_leaves_a_series_and_peaks(tmp_path, case):
    with WorkerProcess(case, tmp_path, timeout=120) as child:
        (opened,) = child.ask(Open(case=case))

    lines = [json.loads(line) for line in (tmp_path / "process_info.log").read_text().splitlines()]
    seen = max(line["rss"] for line in lines)
    assert isinstance(opened, Opened)
    assert len(lines) >= 10
    assert list(lines[0])[:4] == ["time", "rss", "vms", "cpu_percent"]
    assert child.peaks["max_rss"] >= seen > 50_000_000
    assert child.peaks["cpu_seconds"] > 0
    assert 0 < child.peaks["monitor_cost"] < 1


def test_a_worker_that_runs_out_of_time_has_peaks_too(tmp_path, case):
    with (
        pytest.raises(EndingError, match="not finished"),
        WorkerProcess(case, tmp_path, 0.3) as child,
    ):
        list(child.ask(Open(case=case)))

    assert child.peaks["max_rss"] > 0

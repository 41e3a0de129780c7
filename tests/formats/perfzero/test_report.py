from __future__ import annotations

import math

import pytest

from assay import Benchmark
from assay.formats.perfzero.report import REPORTS, read_line


class Own(Benchmark):
    def benchmark_direct(self):
        self.report_benchmark(wall_time=1)

    def benchmark_through_a_helper(self):
        self.helper()

    def helper(self):
        self.report_benchmark(wall_time=2)


def test_a_report_is_named_after_the_method_that_was_started():
    own = Own()

    own.benchmark_direct()
    own.benchmark_through_a_helper()

    assert [entry.name for entry in own.reports] == [
        "Own.benchmark_direct",
        "Own.benchmark_through_a_helper",
    ]


def test_all_that_was_told_comes_back_from_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv(REPORTS, str(tmp_path / "reports"))
    own = Own()

    own.report_benchmark(
        iters=2000,
        cpu_time=3,
        wall_time=1000,
        throughput=4.5,
        name="mine",
        extras={"a": 1, "b": "text", "c": [1]},
        metrics=[{"name": "m", "value": math.inf, "min_value": 1}, {"name": "n", "value": 2}],
    )
    own.report_benchmark(name="mine", metrics=[{"name": "loss", "value": math.nan}])

    first, second = map(read_line, (tmp_path / "reports").read_bytes().splitlines())
    assert first == own.reports[0]
    assert (first.name, first.iters, first.extras) == (
        "Own.mine",
        2000,
        {"a": 1.0, "b": "text", "c": "[1]"},
    )
    assert math.isnan(second.metrics[0].value)


@pytest.mark.parametrize("metric", [{"name": "a"}, {"value": 1}])
def test_a_metric_without_name_or_value_is_a_type_error_as_in_tensorflow(metric):
    with pytest.raises(TypeError, match="has no"):
        Own().report_benchmark(metrics=[metric])

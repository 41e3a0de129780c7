"""The AWS driver's JSON: its names, units and formulas."""

from __future__ import annotations

import pytest

from assay.compat import driver
from assay.core.records import Case, Procedure, Result, Samples

MIB = 2.0**20


def ended(num_gpus=0, peaks=None, seconds=60.0):
    return Result(
        id="run/001",
        case=Case(workload="job", backend="command", params={"num_gpus": num_gpus}),
        procedure=Procedure(),
        status="ok",
        seconds=seconds,
        samples=(
            Samples(metric="wall_time", unit="s", phase="steady", values=(60.0,)),
            Samples(metric="loss", unit="", phase="steady", values=(0.5,)),
        ),
        facts={"metric loss": "last of 3 values"},
        peaks=peaks or {},
    )


def gpu_rows(*pairs):
    return [
        {"time": float(at), "rss": 2048.0, "gpu_memory_used": sum(row) * MIB}
        | {f"gpu{number}_memory_used": used * MIB for number, used in enumerate(row)}
        for at, row in enumerate(pairs)
    ]


def test_gpu_memory_is_that_of_each_gpu_and_then_their_mean():
    found = driver.document(ended(num_gpus=2), gpu_rows((100, 600), (300, 600)), "", "")

    assert found["job.gpu_memory_usage_mean"] == pytest.approx((200 + 600) / 2)
    assert found["job.gpu_memory_usage_std"] == pytest.approx((100 * 2**0.5 + 0) / 2)
    assert found["job.gpu_memory_usage_max"] == pytest.approx((300 + 600) / 2)


def test_only_the_first_gpus_count():
    found = driver.document(ended(num_gpus=1), gpu_rows((300, 600)), "", "")

    assert found["job.gpu_memory_usage_mean"] == 300
    assert found["job.gpu_memory_usage_std"] == 0
    assert found["job.gpu_memory_usage_max"] == 300


def test_without_gpus_there_is_no_gpu_memory():
    assert not [n for n in driver.document(ended(), gpu_rows((3, 6)), "", "") if "gpu" in n]


def test_memory_that_is_not_known_is_not_zero():
    found = driver.document(ended(seconds=0.01), [], "", "")

    assert "job.cpu_memory_usage" not in found
    assert found["job.loss"] == 0.5


def test_a_brief_command_has_its_peak():
    found = driver.document(ended(seconds=0.01, peaks={"max_rss": 2048.0}), [], "", "")

    assert found["job.cpu_memory_usage"] == 2

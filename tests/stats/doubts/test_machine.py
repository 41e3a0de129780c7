"""Doubts that lie in the machine."""

import pytest

from assay.core.records import Case, Environment, Procedure, Result
from assay.stats.doubts.machine import MACHINE_DOUBTS


def doubts(machine=None, **peaks):
    result = Result(
        id="r/001",
        case=Case(workload="w", backend="b"),
        procedure=Procedure(),
        status="ok",
        seconds=10.0,
        peaks=peaks,
        environment=Environment(machine=machine or {}),
    )
    return [doubt for check in MACHINE_DOUBTS if (doubt := check(result))]


@pytest.mark.parametrize(
    "code, peaks",
    [
        ("throttled", {"gpu_throttled_share": 0.4}),
        ("throttled", {"thermal_throttles": 3}),
        ("other-load", {"machine_busy_cores": 3.0, "mean_cpu_percent": 200.0}),
        ("swap", {"swapped_bytes": 1 << 24}),
        ("steal", {"steal_share": 0.05}),
        ("quota", {"cgroup_throttled_seconds": 2.0}),
        ("monitor-cost", {"monitor_cost": 0.02}),
    ],
)
def test_each_trouble_has_its_doubt_and_a_remedy(code, peaks):
    (doubt,) = doubts(**peaks)

    assert doubt.code == code
    assert doubt.remedy


@pytest.mark.parametrize(
    "peaks",
    [
        {},
        {"gpu_throttled_share": 0.01, "thermal_throttles": 0},
        {"machine_busy_cores": 2.1, "mean_cpu_percent": 200.0},
        {"machine_busy_cores": 2.1},
        {"swapped_bytes": 4096, "steal_share": 0.001, "cgroup_throttled_seconds": 0.01},
        {"monitor_cost": 0.002},
    ],
)
def test_a_quiet_machine_raises_none(peaks):
    assert doubts(**peaks) == []


def test_a_quota_tells_how_many_threads_fit():
    (doubt,) = doubts(machine={"cgroup_cpus": 1.5}, cgroup_throttled_seconds=2.0)

    assert "--threads 1" in doubt.remedy


@pytest.mark.parametrize("name, count", [("powersave", 1), ("performance", 0), ("schedutil", 0)])
def test_a_slow_governor_is_doubted(name, count):
    assert len(doubts(machine={"governor": name})) == count

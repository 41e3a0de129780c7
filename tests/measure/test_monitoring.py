"""When monitors look, what it may cost, and what is left at the end."""

import os
import resource
import subprocess
import sys
import time
import types

import pytest

from assay.measure import monitoring
from assay.measure.monitoring import Monitoring
from assay.stats.pooling import pool_peaks


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Fake:
    """A monitor that costs what a test says, by moving the thread's own clock."""

    def __init__(self, period, spend=lambda: None, found=None):
        self.peaks = {"max_rss": ("rss", "max")}
        self.period, self.spend, self.found, self.looks = period, spend, found or {}, 0

    def missing(self):
        return ""

    def sample(self, pids):
        self.looks += 1
        self.spend()
        return self.found

    def close(self):
        pass


@pytest.fixture
def thread(monkeypatch):
    spent = types.SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(time, "thread_time", lambda: spent.seconds)
    return spent


def watch(monitors, clock, folder, seconds):
    made = Monitoring(1 << 30, folder, monitors, clock)
    end = clock.now + seconds
    while clock.now < end:
        clock.now += made.look() + 1e-9
    return made


def test_a_cheap_quick_monitor_looks_ten_times_a_second(tmp_path, thread):
    quick = Fake(0.1)

    watch([quick], Clock(), tmp_path, 10.0)

    assert 100 <= quick.looks <= 105


def test_a_dear_look_comes_more_rarely(tmp_path, thread):
    def spend():
        thread.seconds += 0.001

    dear = Fake(1.0, spend)

    watch([Fake(0.1), dear], Clock(), tmp_path, 60.0)

    assert dear.looks * 0.001 / 60 <= monitoring.MAX_CPU_SHARE[False] * 1.2
    assert dear.looks >= 5


def test_the_cost_is_told(tmp_path, thread):
    def spend():
        thread.seconds += 0.00005

    made = watch([Fake(0.1, spend)], Clock(), tmp_path, 10.0)

    assert made.end(None)["monitor_cost"] == pytest.approx(0.0005, rel=0.1)


def test_a_clock_that_stands_still_costs_no_division(tmp_path):
    made = Monitoring(1 << 30, tmp_path, [Fake(0.1, found={"rss": 5})], Clock())
    made.look()

    found = made.end(None)

    assert found["monitor_cost"] == 0.0
    assert found["max_rss"] == 5


def test_the_kernels_mark_wins_over_what_was_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(monitoring, "_own_peak_memory", lambda: 1000)
    made = Monitoring(1 << 30, tmp_path, [Fake(0.1, found={"rss": 5000})], Clock())
    made.look()
    usage = types.SimpleNamespace(ru_maxrss=9, ru_utime=1.5, ru_stime=0.5)

    found = made.end(usage)

    assert (found["max_rss"], found["cpu_seconds"]) == (9 * 1024, 2.0)


def test_a_mark_inherited_from_the_parent_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.setattr(monitoring, "_own_peak_memory", lambda: 9 << 20)
    made = Monitoring(1 << 30, tmp_path, [Fake(0.1, found={"rss": 5e6})], Clock())
    made.look()
    usage = types.SimpleNamespace(ru_maxrss=9 << 10, ru_utime=0.0, ru_stime=0.0)

    assert made.end(usage)["max_rss"] == 5e6


def test_a_child_that_was_over_before_it_was_loaded_has_what_the_kernel_says(tmp_path, monkeypatch):
    monkeypatch.setattr(monitoring, "_own_peak_memory", lambda: 9 << 20)
    made = Monitoring(1 << 30, tmp_path, [Fake(0.1, found={"rss": 4096.0})], Clock())
    made.look()
    usage = types.SimpleNamespace(ru_maxrss=9 << 10, ru_utime=0.0, ru_stime=0.0)

    assert made.end(usage)["max_rss"] == 9 << 20


def test_without_any_monitor_there_is_still_an_end(tmp_path):
    made = Monitoring(1 << 30, tmp_path, [], Clock())

    assert made.look() == 1.0
    assert "max_rss" not in made.end(None)


def test_amounts_of_several_processes_are_added_and_peaks_are_not():
    parts = [{"max_rss": 5.0, "energy_joules": 2.0}, {"max_rss": 7.0, "energy_joules": 3.0}]

    assert pool_peaks(parts) == {"max_rss": 7.0, "energy_joules": 5.0}


@pytest.mark.real
def test_a_child_of_fifty_milliseconds_is_seen(tmp_path):
    own = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    held = own + 100_000_000
    code = f"held = bytearray({held})\nfor i in range(0, {held}, 4096): held[i] = 1"
    child = subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)
    made = Monitoring(child.pid, tmp_path)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)

    found = made.end(usage)

    assert held < found["max_rss"] < held + 50_000_000


@pytest.mark.real
def test_memory_held_by_a_child_is_told_as_it_tells_itself(tmp_path):
    code = (
        "held = bytearray(100_000_000)\n"
        "for i in range(0, len(held), 4096): held[i] = 1\n"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0], flush=True)\n"
        "input()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    made = Monitoring(child.pid, tmp_path)
    own = 1024 * int(child.stdout.readline())
    made.look(everything=True)
    child.communicate(b"\n")

    assert made.end(None)["max_rss"] == pytest.approx(own, rel=0.01)

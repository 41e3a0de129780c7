"""Memory and CPU of a tree, also while it falls apart."""

import os
import subprocess
import sys
import time

import pytest

from assay.monitors.process import ProcessMonitor

PAGE = os.sysconf("SC_PAGE_SIZE")


class Clock:
    def __init__(self, *times):
        self.times = list(times)

    def __call__(self):
        return self.times.pop(0)


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """A /proc with two processes, whose CPU clocks stand where a test puts them."""
    used = {11: 1.0, 12: 2.0}
    for pid, (size, pages) in {11: (100, 10), 12: (200, 20)}.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "statm").write_text(f"{size} {pages} 3 4 0 5 0\n")

    def clock_gettime(number):
        pid = ~(number >> 3)
        if pid not in used:
            raise OSError(22, "gone")
        return used[pid]

    monkeypatch.setattr(time, "clock_gettime", clock_gettime)
    return tmp_path, used


def test_memory_is_summed_over_the_tree(proc):
    monitor = ProcessMonitor(str(proc[0]), Clock(0.0))

    found = monitor.sample([11, 12])

    assert (found["rss"], found["vms"]) == (30 * PAGE, 300 * PAGE)


def test_cpu_is_what_was_spent_since_the_last_look(proc):
    monitor = ProcessMonitor(str(proc[0]), Clock(0.0, 2.0))
    monitor.sample([11, 12])
    proc[1].update({11: 2.0, 12: 3.0})

    found = monitor.sample([11, 12])

    assert found["cpu_percent"] == 100.0


def test_the_first_look_knows_no_cpu(proc):
    assert "cpu_percent" not in ProcessMonitor(str(proc[0]), Clock(0.0)).sample([11])


def test_what_has_exited_and_was_not_waited_for_uses_no_memory_that_could_be_a_peak(proc):
    (proc[0] / "11" / "statm").write_text("0 0 0 0 0 0 0\n")

    assert ProcessMonitor(str(proc[0]), Clock(0.0)).sample([11]) == {}


@pytest.mark.parametrize("times", [(5.0, 5.0), (5.0, 1.0)])
def test_a_clock_that_stands_or_goes_back_gives_no_cpu(proc, times):
    monitor = ProcessMonitor(str(proc[0]), Clock(*times))
    monitor.sample([11])
    proc[1][11] = 9.0

    assert monitor.sample([11])["cpu_percent"] == 0.0


def test_a_process_that_vanishes_leaves_the_rest(proc):
    monitor = ProcessMonitor(str(proc[0]), Clock(0.0, 1.0))
    monitor.sample([11, 12])
    del proc[1][12]

    assert monitor.sample([11, 12])["rss"] == 10 * PAGE


def test_a_file_emptied_while_it_is_read_counts_as_gone(proc):
    (proc[0] / "12" / "statm").write_text("")

    found = ProcessMonitor(str(proc[0]), Clock(0.0)).sample([11, 12])

    assert found["rss"] == 10 * PAGE


def test_nothing_is_told_of_a_pid_that_is_gone(proc):
    assert ProcessMonitor(str(proc[0]), Clock()).sample([77]) == {}


@pytest.mark.real
def test_a_real_child_is_seen_and_then_gone():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    monitor = ProcessMonitor()

    alive = monitor.sample([child.pid])
    child.communicate(b"\n")
    dead = monitor.sample([child.pid])

    assert alive["rss"] > 0
    assert dead == {}
    monitor.close()


def test_what_a_process_used_before_it_was_seen_is_not_of_this_look():
    spin = "import time\nwhile time.process_time() < 0.3: pass\nprint(1, flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    child.stdout.readline()
    monitor = ProcessMonitor(clock=iter([0.0, 0.1]).__next__)

    monitor.sample([os.getpid()])
    found = monitor.sample([os.getpid(), child.pid])
    child.communicate(b"\n")

    assert found["cpu_percent"] < 100

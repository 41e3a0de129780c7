"""What else the machine does."""

import os

import pytest

from assay.monitors.machine import MachineMonitor, _throttled_seconds


def write(folder, ticks, swapped=(0, 0)):
    (folder / "stat").write_text(f"cpu  {' '.join(map(str, ticks))} 0 0\ncpu0 1 2 3\n")
    (folder / "vmstat").write_text(f"nr_x 5\npswpin {swapped[0]}\npswpout {swapped[1]}\n")


def test_busy_and_stolen_time_are_shares_of_the_ticks_between(tmp_path):
    write(tmp_path, (100, 0, 0, 100, 0, 0, 0, 0))
    monitor = MachineMonitor(str(tmp_path))
    write(tmp_path, (140, 0, 10, 140, 0, 0, 0, 10))

    found = monitor.sample([])

    assert found["steal"] == 0.1
    assert found["machine_busy"] == 0.5 * os.cpu_count()


def test_swapping_is_counted_from_the_start(tmp_path):
    write(tmp_path, (1,) * 8, swapped=(10, 10))
    monitor = MachineMonitor(str(tmp_path))
    write(tmp_path, (2,) * 8, swapped=(11, 12))

    assert monitor.sample([])["swapped"] == 3 * os.sysconf("SC_PAGE_SIZE")


def test_counters_set_back_give_no_shares(tmp_path):
    write(tmp_path, (100,) * 8)
    monitor = MachineMonitor(str(tmp_path))
    write(tmp_path, (50,) * 8)

    assert "steal" not in monitor.sample([])


def test_without_the_file_it_is_missing_and_silent(tmp_path):
    monitor = MachineMonitor(str(tmp_path))

    assert "cannot be read" in monitor.missing()
    assert "machine_busy" not in monitor.sample([])


@pytest.mark.parametrize(
    "text, seconds",
    [
        (b"nr_periods 3\nthrottled_usec 2500000\n", 2.5),
        (b"nr_periods 3\nthrottled_time 2500000000\n", 2.5),
        (b"", None),
    ],
)
def test_waiting_for_a_quota_is_read_in_both_versions(text, seconds):
    assert _throttled_seconds(text) == seconds

"""Own memory and the high-water mark."""

from assay.monitors.memory import MemoryMonitor


def process(folder, pid, rollup=None, status=None):
    (folder / str(pid)).mkdir()
    if rollup is not None:
        (folder / str(pid) / "smaps_rollup").write_text(rollup)
    if status is not None:
        (folder / str(pid) / "status").write_text(status)


def test_shares_are_summed_and_the_mark_is_the_workers(tmp_path):
    process(tmp_path, 1, "a-b [rollup]\nRss: 9 kB\nPss:  5 kB\n", "Name:\tx\nVmHWM:\t  70 kB\n")
    process(tmp_path, 2, "a-b [rollup]\nRss: 9 kB\nPss:  4 kB\n", "Name:\ty\nVmHWM:\t 900 kB\n")

    found = MemoryMonitor(str(tmp_path)).sample([1, 2])

    assert found == {"pss": 9 * 1024, "high_water": 70 * 1024}


def test_an_unreadable_rollup_leaves_pss_out(tmp_path):
    process(tmp_path, 1, status="VmHWM:\t  70 kB\n")

    assert MemoryMonitor(str(tmp_path)).sample([1]) == {"high_water": 70 * 1024}


def test_a_zombie_has_neither(tmp_path):
    process(tmp_path, 1, "", "Name:\tx\nState:\tZ (zombie)\n")

    assert MemoryMonitor(str(tmp_path)).sample([1]) == {}


def test_no_process_no_numbers(tmp_path):
    assert MemoryMonitor(str(tmp_path)).sample([]) == {}

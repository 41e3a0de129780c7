"""RAPL counters."""

import pytest

from assay.monitors.energy import EnergyMonitor


@pytest.fixture
def zone(tmp_path):
    def zone(number, name, energy):
        folder = tmp_path / f"intel-rapl:{number}"
        folder.mkdir(exist_ok=True)
        (folder / "name").write_text(name + "\n")
        (folder / "energy_uj").write_text(f"{energy}\n")
        (folder / "max_energy_range_uj").write_text("1000000\n")

    return zone


def test_packages_and_their_memory_are_added_and_cores_are_not(tmp_path, zone):
    for number, name in (("0", "package-0"), ("0:0", "core"), ("0:1", "dram")):
        zone(number, name, 0)
    monitor = EnergyMonitor(tmp_path)
    for number, name in (("0", "package-0"), ("0:0", "core"), ("0:1", "dram")):
        zone(number, name, 500000)

    assert monitor.sample([]) == {"cpu_energy": 1.0}


def test_a_counter_that_wraps_goes_on(tmp_path, zone):
    zone("0", "package-0", 900000)
    monitor = EnergyMonitor(tmp_path)
    zone("0", "package-0", 100000)

    assert monitor.sample([])["cpu_energy"] == pytest.approx(0.2)


def test_where_nothing_is_readable_it_says_so(tmp_path):
    assert "cannot be read" in EnergyMonitor(tmp_path / "none").missing()

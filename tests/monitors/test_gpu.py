"""GPUs: NVML, nvidia-smi with all its moods, and AMD's files."""

import os
import stat
import types

import pytest

from assay.monitors.gpu import GpuMonitor
from assay.monitors.gpu_energy import GpuEnergyMonitor
from assay.monitors.sources import amd, nvidia_smi, nvml
from assay.monitors.sources.gpu_sample import GpuSample


class Looks:
    """A source that tells what it was given, look after look."""

    counts_energy = False

    def __init__(self, *looks):
        self.rounds = list(looks)

    def samples(self, pids):
        return self.rounds.pop(0)

    def close(self):
        pass


def clock(*times):
    left = list(times)
    return lambda: left.pop(0)


def test_only_gpus_that_the_case_uses_are_counted():
    used, idle = GpuSample(power=300.0, memory=7.0), GpuSample(power=70.0)

    found = GpuMonitor(Looks([used, idle]), clock(0.0, 1.0)).sample([1])

    assert (found["gpu_power"], found["gpu_memory"]) == (300.0, 7.0)


def test_where_the_driver_names_no_process_all_are_counted():
    found = GpuMonitor(
        Looks([GpuSample(power=300.0), GpuSample(power=70.0)]), clock(0.0, 1.0)
    ).sample([1])

    assert found["gpu_power"] == 370.0


def test_the_memory_of_each_gpu_is_told_by_its_number():
    looks = [GpuSample(memory_used=3.0, memory=1.0), GpuSample(memory_used=6.0)]

    found = GpuMonitor(Looks(looks), clock(0.0, 1.0)).sample([1])

    assert (found["gpu0_memory_used"], found["gpu1_memory_used"]) == (3.0, 6.0)
    assert found["gpu_memory_used"] == 3.0


def test_a_gpu_whose_line_came_alone_keeps_its_number():
    found = GpuMonitor(Looks([GpuSample(memory_used=6.0, number=1)]), clock(0.0, 1.0)).sample([1])

    assert found["gpu1_memory_used"] == 6.0
    assert "gpu0_memory_used" not in found


class Counting(Looks):
    """A source with counters, one list of joules a reading."""

    counts_energy = True

    def __init__(self, looks, *energies):
        super().__init__(*looks)
        self.readings = list(energies)

    def energies(self):
        return self.readings.pop(0)


def test_energy_is_the_counters_rise_on_the_gpus_used():
    source = Counting([[GpuSample(memory=5.0), GpuSample()]], [100.0, 50.0], [160.0, 90.0])

    assert GpuEnergyMonitor(source).sample([1]) == {"gpu_energy": 60.0}


def test_a_gpu_once_used_counts_to_the_end():
    source = Counting(
        [[GpuSample(memory=5.0), GpuSample()], [GpuSample(), GpuSample()]],
        [0.0, 0.0],
        [1.0, 9.0],
        [2.0, 9.0],
    )
    monitor = GpuEnergyMonitor(source)
    monitor.sample([1])

    assert monitor.sample([1]) == {"gpu_energy": 2.0}


def test_gpus_without_counters_have_no_energy_monitor(monkeypatch):
    monkeypatch.setattr(nvml, "source", lambda: None)

    assert GpuEnergyMonitor().missing()
    assert GpuEnergyMonitor(Counting([], [0.0])).missing()
    assert GpuEnergyMonitor().sample([1]) == {}


def test_where_a_counter_is_power_is_not_added_up():
    monitor = GpuMonitor(Counting([[GpuSample(power=50.0)]]), clock(0.0, 1.0))

    assert "gpu_energy" not in monitor.sample([])


def test_without_a_counter_energy_is_power_times_time():
    monitor = GpuMonitor(
        Looks([GpuSample(power=50.0)], [GpuSample(power=50.0)]), clock(0.0, 1.0, 3.0)
    )
    monitor.sample([])

    assert monitor.sample([])["gpu_energy"] == 150.0


def test_a_clock_that_goes_back_adds_no_energy():
    monitor = GpuMonitor(Looks([GpuSample(power=50.0)]), clock(9.0, 1.0))

    assert monitor.sample([])["gpu_energy"] == 0.0


def test_unequal_gpus_are_told_by_what_limits():
    a, b = (
        GpuSample(clock=1.9e9, temperature=50.0),
        GpuSample(clock=1.2e9, temperature=80.0, throttled=True),
    )

    found = GpuMonitor(Looks([a, b]), clock(0.0, 1.0)).sample([])

    assert found == {"gpu_clock": 1.2e9, "gpu_temperature": 80.0, "gpu_throttled": 1.0}


def test_without_any_gpu_it_is_missing(monkeypatch):
    for module in (nvml, nvidia_smi, amd):
        monkeypatch.setattr(module, "source", lambda: None)
    monitor = GpuMonitor()

    assert "no GPU" in monitor.missing()
    assert monitor.sample([1]) == {}


class NVMLError(Exception):
    pass


def library(**answers):
    """A pynvml with one GPU; a question without an answer is refused as the driver does."""

    def refuse(*_):
        raise NVMLError("Not Supported")

    questions = (
        *("PowerUsage", "UtilizationRates", "MemoryInfo", "ClockInfo", "TotalEnergyConsumption"),
        *("CurrentClocksThrottleReasons", "ComputeRunningProcesses", "Temperature"),
    )
    made = {f"nvmlDeviceGet{name}": refuse for name in questions}
    made |= {
        f"nvmlDeviceGet{name}": lambda *_, value=value: value for name, value in answers.items()
    }
    return types.SimpleNamespace(
        NVMLError=NVMLError,
        NVML_CLOCK_SM=1,
        NVML_TEMPERATURE_GPU=0,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda i: i,
        **made,
    )


def test_nvml_is_read_in_si_units():
    processes = [types.SimpleNamespace(pid=5, usedGpuMemory=100)]
    source = nvml.NvmlSource(
        library(
            PowerUsage=250_000,
            ClockInfo=1500,
            CurrentClocksThrottleReasons=0x40,
            ComputeRunningProcesses=processes,
        )
    )

    (look,) = source.samples([5])

    assert look == GpuSample(power=250.0, clock=1.5e9, throttled=True, memory=100.0)


def test_nvmls_energy_is_in_joules_and_nothing_where_refused():
    assert nvml.NvmlSource(library(TotalEnergyConsumption=9000)).energies() == [9.0]
    assert nvml.NvmlSource(library()).energies() == [0.0]


def test_an_idle_clock_is_no_throttling():
    (look,) = nvml.NvmlSource(library(CurrentClocksThrottleReasons=0x1)).samples([])

    assert look.throttled is False


def test_processes_of_others_and_memory_not_told_leave_it_unknown():
    processes = [
        types.SimpleNamespace(pid=6, usedGpuMemory=100),
        types.SimpleNamespace(pid=5, usedGpuMemory=None),
    ]

    (look,) = nvml.NvmlSource(library(ComputeRunningProcesses=processes)).samples([5])

    assert look.memory is None


def test_a_gpu_that_answers_nothing_is_an_empty_look():
    assert nvml.NvmlSource(library()).samples([5]) == [GpuSample()]


@pytest.mark.parametrize(
    "line, number, look",
    [
        (
            "0, 61.5, 97, 1024, 1410, 45, 0x0000000000000004",
            0,
            GpuSample(
                power=61.5,
                utilization=97.0,
                memory_used=2.0**30,
                clock=1.41e9,
                temperature=45.0,
                throttled=True,
            ),
        ),
        (
            "1, [N/A], [Not Supported], 0, [Unknown Error], nan, [N/A]",
            1,
            GpuSample(memory_used=0.0),
        ),
        ("No devices were found", -1, GpuSample()),
        ("", -1, GpuSample()),
        ("Failed to initialize NVML: Driver/library version mismatch", -1, GpuSample()),
        ("a, b, c, d, e, f, g", -1, GpuSample()),
    ],
)
def test_lines_of_nvidia_smi(line, number, look):
    assert nvidia_smi.read_line(line) == (number, look)


def stub(folder, text, ending="exec sleep 60"):
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\nprintf '{text}'\n{ending}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def printed(source):
    """Wait for the stub to have printed: its end of the pipe closes, or its text is there."""
    os.set_blocking(source._process.stdout.fileno(), True)
    source._rest = os.read(source._process.stdout.fileno(), 65536)
    os.set_blocking(source._process.stdout.fileno(), False)


@pytest.mark.real
def test_a_running_nvidia_smi_is_read_without_waiting(tmp_path):
    line = "0, 10, 1, 2, 3, 4, 0x0\\n"
    source = nvidia_smi.SmiSource(stub(tmp_path, f"warning: odd\\n{line}{line}0, 99, 1"))
    printed(source)

    first, second = source.samples([]), source.samples([])
    source.close()

    assert [look.power for look in first] == [10.0]
    assert second == []  # a line cut short waits for its rest


@pytest.mark.real
def test_an_nvidia_smi_that_fails_at_once_tells_nothing(tmp_path):
    source = nvidia_smi.SmiSource(stub(tmp_path, "No devices were found\\n", "exit 6"))
    printed(source)

    assert source.samples([]) == []
    source.close()


def test_an_nvidia_smi_that_cannot_start_tells_nothing(tmp_path):
    source = nvidia_smi.SmiSource(str(tmp_path / "nowhere"))

    assert source.samples([]) == []
    source.close()


def test_amd_is_read_from_the_kernels_files(tmp_path):
    device = tmp_path / "card0" / "device"
    sensors = device / "hwmon" / "hwmon3"
    sensors.mkdir(parents=True)
    (device / "mem_info_vram_used").write_text("4096\n")
    (device / "gpu_busy_percent").write_text("42\n")
    (sensors / "power1_average").write_text("150000000\n")
    (sensors / "temp1_input").write_text("65000\n")

    (look,) = amd.source(tmp_path).samples([])

    assert look == GpuSample(power=150.0, utilization=42, memory_used=4096, temperature=65.0)


def test_without_amd_cards_there_is_no_source(tmp_path):
    assert amd.source(tmp_path) is None

"""AMD GPUs through files of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.monitors.sources.gpu_sample import GpuSample
from assay.monitors.sources.proc import OpenFile

CARDS = Path("/sys/class/drm")


def source(cards: Path = CARDS) -> AmdSource | None:
    devices = [card.parent for card in sorted(cards.glob("card[0-9]*/device/mem_info_vram_used"))]
    return AmdSource(devices) if devices else None


class AmdSource:
    """Files of the amdgpu driver (kernel documentation, gpu/amdgpu/thermal)."""

    counts_energy = False

    def __init__(self, devices: Sequence[Path]) -> None:
        self._files = [_files(device) for device in devices]

    def samples(self, pids: Sequence[int]) -> list[GpuSample]:
        return [_read_card({name: file.number() for name, file in f.items()}) for f in self._files]

    def close(self) -> None:
        for files in self._files:
            for file in files.values():
                file.close()


def _files(device: Path) -> dict[str, OpenFile]:
    sensors = next(iter(sorted(device.glob("hwmon/hwmon*"))), device)
    average = sensors / "power1_average"
    return {
        "power": OpenFile(str(average if average.exists() else sensors / "power1_input")),
        "use": OpenFile(str(device / "gpu_busy_percent")),
        "memory": OpenFile(str(device / "mem_info_vram_used")),
        "clock": OpenFile(str(sensors / "freq1_input")),
        "heat": OpenFile(str(sensors / "temp1_input")),
    }


def _read_card(values: dict[str, int | None]) -> GpuSample:
    return GpuSample(
        power=_scale(values["power"], 1e-6),
        utilization=values["use"],
        memory_used=values["memory"],
        clock=values["clock"],
        temperature=_scale(values["heat"], 1e-3),
    )


def _scale(value: int | None, scale: float) -> float | None:
    return None if value is None else value * scale

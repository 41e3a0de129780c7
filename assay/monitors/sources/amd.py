"""AMD GPUs through files of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.monitors.sources.gpu_sample import Look
from assay.monitors.sources.proc import KeptFile

CARDS = Path("/sys/class/drm")


def source(cards: Path = CARDS) -> AmdSource | None:
    devices = [card.parent for card in sorted(cards.glob("card[0-9]*/device/mem_info_vram_used"))]
    return AmdSource(devices) if devices else None


class AmdSource:
    """Files of the amdgpu driver (kernel documentation, gpu/amdgpu/thermal)."""

    counts_energy = False

    def __init__(self, devices: Sequence[Path]) -> None:
        self._files = [_files(device) for device in devices]

    def samples(self, pids: Sequence[int]) -> list[Look]:
        return [_look({name: file.number() for name, file in f.items()}) for f in self._files]

    def close(self) -> None:
        for files in self._files:
            for file in files.values():
                file.close()


def _files(device: Path) -> dict[str, KeptFile]:
    sensors = next(iter(sorted(device.glob("hwmon/hwmon*"))), device)
    average = sensors / "power1_average"
    return {
        "power": KeptFile(str(average if average.exists() else sensors / "power1_input")),
        "use": KeptFile(str(device / "gpu_busy_percent")),
        "memory": KeptFile(str(device / "mem_info_vram_used")),
        "clock": KeptFile(str(sensors / "freq1_input")),
        "heat": KeptFile(str(sensors / "temp1_input")),
    }


def _look(values: dict[str, int | None]) -> Look:
    return Look(
        power=_scaled(values["power"], 1e-6),
        utilization=values["use"],
        memory_used=values["memory"],
        clock=values["clock"],
        temperature=_scaled(values["heat"], 1e-3),
    )


def _scaled(value: int | None, scale: float) -> float | None:
    return None if value is None else value * scale

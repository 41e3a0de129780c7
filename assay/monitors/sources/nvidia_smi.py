"""NVIDIA GPUs through a running nvidia-smi, if NVML's package is missing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace

from assay.monitors.sources.gpu_sample import GpuSample
from assay.monitors.sources.nvml import THROTTLES

FIELDS = (
    "index",
    "power.draw",
    "utilization.gpu",
    "memory.used",
    "clocks.sm",
    "temperature.gpu",
    "clocks_throttle_reasons.active",
)
EVERY = 1000  # milliseconds


def source() -> SmiSource | None:
    program = shutil.which("nvidia-smi")
    if not program or not any(name.startswith("nvidia") for name in _devices()):
        return None
    return SmiSource(program)


class SmiSource:
    """nvidia-smi prints a line per GPU every second; reading never blocks."""

    counts_energy = False

    def __init__(self, program: str) -> None:
        query = f"--query-gpu={','.join(FIELDS)}"
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                [program, query, "--format=csv,noheader,nounits", f"--loop-ms={EVERY}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is handled by assay
            )
        except OSError:
            self._process = None
            return
        assert self._process.stdout
        os.set_blocking(self._process.stdout.fileno(), False)
        self._rest = b""

    def samples(self, pids: Sequence[int]) -> list[GpuSample]:
        """The newest line of each GPU since the last call."""
        newest: dict[int, GpuSample] = {}
        for line in self._lines():
            number, look = read_line(line)
            if number >= 0:
                newest[number] = look
        return [replace(newest[number], number=number) for number in sorted(newest)]

    def close(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout
            self._process.stdout.close()
            self._process = None

    def _lines(self) -> list[str]:
        if not self._process or not self._process.stdout:
            return []
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._process.stdout.fileno(), 65536):
                self._rest += chunk
        *lines, self._rest = self._rest.split(b"\n")
        return [line.decode(errors="replace") for line in lines]


def read_line(line: str) -> tuple[int, GpuSample]:
    """The GPU's number and sample; -1 for other lines, such as warnings of the driver."""
    words = [word.strip() for word in line.split(",")]
    if len(words) != len(FIELDS) or not words[0].isdigit():
        return -1, GpuSample()
    power, use, memory, clock, heat = (number(word) for word in words[1:6])
    return int(words[0]), GpuSample(
        power=power,
        utilization=use,
        memory_used=None if memory is None else memory * 2**20,
        clock=None if clock is None else clock * 1e6,
        temperature=heat,
        throttled=_throttled(words[6]),
    )


def number(word: str) -> float | None:
    """None for [N/A], [Not Supported], [Unknown Error]."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def _throttled(word: str) -> bool | None:
    try:
        return bool(int(word, 16) & THROTTLES)
    except ValueError:
        return None


def _devices() -> list[str]:
    try:
        return os.listdir("/dev")
    except OSError:
        return []

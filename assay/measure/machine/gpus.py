"""GPUs, their driver and libraries, without loading a framework."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from assay.core.records import Value
from assay.monitors.sources import nvml
from assay.monitors.sources.nvidia_smi import number

Facts = dict[str, Value]

_LIBRARIES = {"nvidia_cudnn": "cudnn", "nvidia_cuda_runtime": "cuda", "nvidia_nccl": "nccl"}


def gpus() -> Facts:
    """`gpus`, and the name and memory of each, which may differ. Empty without GPUs."""
    for ask in (_by_nvml, _by_nvidia_smi, _by_rocm_smi):
        if facts := ask():
            return facts
    return {}


def libraries(path: list[str] | None = None, system: Path = Path("/usr")) -> Facts:
    """Versions of CUDA, cuDNN and NCCL: from packages of this Python, else from system files."""
    facts: Facts = {}
    for folder in sys.path if path is None else path:
        for name in _names(folder or "."):
            if match := re.fullmatch(r"(nvidia_\w+?)(?:_cu\d+)?-([\d.]+)\.dist-info", name):
                fact = _LIBRARIES.get(match[1])
                if fact:
                    facts.setdefault(fact, match[2])
    facts.setdefault("cudnn", _cudnn_file(system))
    facts.setdefault("cuda", _cuda_file(system))
    return {name: value for name, value in facts.items() if value}


def _by_nvml() -> Facts:
    library = nvml.load()
    if not library:
        return {}
    try:
        handles = [
            library.nvmlDeviceGetHandleByIndex(i) for i in range(library.nvmlDeviceGetCount())
        ]
        facts: Facts = {
            "gpus": len(handles),
            "driver": _decode(library.nvmlSystemGetDriverVersion()),
        }
        version = library.nvmlSystemGetCudaDriverVersion()
        facts["cuda_driver"] = f"{version // 1000}.{version % 1000 // 10}"
        for i, handle in enumerate(handles):
            facts[f"gpu{i}"] = _decode(library.nvmlDeviceGetName(handle))
            facts[f"gpu{i}_memory"] = int(library.nvmlDeviceGetMemoryInfo(handle).total)
    except library.NVMLError:  # the driver and the library may disagree
        return {}
    return facts if handles else {}


def _by_nvidia_smi() -> Facts:
    fields = "name,memory.total,driver_version"
    lines = _program_output("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits")
    rows = [[word.strip() for word in line.split(",")] for line in lines.splitlines()]
    rows = [row for row in rows if len(row) == 3]  # anything else is a message of the driver
    if not rows:
        return {}
    facts: Facts = {"gpus": len(rows), "driver": rows[0][2]}
    for i, (name, memory, _) in enumerate(rows):
        facts[f"gpu{i}"] = name
        if (mebibytes := number(memory)) is not None:
            facts[f"gpu{i}_memory"] = int(mebibytes * 2**20)
    return facts


def _by_rocm_smi() -> Facts:
    text = _program_output(
        "rocm-smi", "--showproductname", "--showmeminfo", "vram", "--showdriverversion", "--json"
    )
    try:
        reported = json.loads(text[text.find("{") :]) if "{" in text else {}
    except ValueError:
        return {}
    cards = [reported[name] for name in sorted(reported) if re.fullmatch(r"card\d+", name)]
    cards = [card for card in cards if isinstance(card, dict)]
    facts: Facts = {"gpus": len(cards)} if cards else {}
    for i, card in enumerate(cards):
        facts[f"gpu{i}"] = str(card.get("Card series") or card.get("Card Series") or "AMD GPU")
        total = str(card.get("VRAM Total Memory (B)", ""))
        if total.isdecimal():
            facts[f"gpu{i}_memory"] = int(total)
    driver = reported.get("system", {})
    if cards and isinstance(driver, dict) and driver.get("Driver version"):
        facts["driver"] = str(driver["Driver version"])
    return facts


def _program_output(program: str, *words: str) -> str:
    if not shutil.which(program):
        return ""
    try:
        answer = subprocess.run([program, *words], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.decode(errors="replace") if answer.returncode == 0 else ""


def _cudnn_file(system: Path) -> str:
    """From the name of the library, such as libcudnn.so.9.1.0."""
    for folder in ("lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "local/cuda/lib64"):
        names = "\n".join(_names(str(system / folder)))
        if version := re.search(r"^libcudnn\.so\.(\d+\.\d+\.\d+)$", names, re.MULTILINE):
            return version[1]
    return ""


def _cuda_file(system: Path) -> str:
    try:
        reported = json.loads((system / "local/cuda/version.json").read_text())
        return str(reported["cuda"]["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _decode(text: str | bytes) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else text

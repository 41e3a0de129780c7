"""Facts of this machine from the kernel's files. Facts that cannot be read are left out."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from assay.core.records import Value
from assay.monitors.sources import cgroup

Facts = dict[str, Value]

ROOT = Path("/")
_FLAGS = re.compile(r"avx2|fma|avx512\w*|avx_vnni|amx_\w+|f16c|asimd\w*|sve\w*|bf16|i8mm")
_UNLIMITED = 1 << 60  # version 1 writes a number near 2**63 where there is no limit


def hardware(root: Path = ROOT) -> Facts:
    cpu = root / "sys/devices/system/cpu"
    return _known(
        {
            **_processor(_text(root / "proc/cpuinfo")),
            **_caches(cpu / "cpu0/cache"),
            "cpus": os.cpu_count(),
            "cpus_allowed": len(os.sched_getaffinity(0)),
            "numa_nodes": len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or None,
            "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "architecture": platform.machine(),
            "smt": {"1": True, "0": False}.get(_text(cpu / "smt/active")),
        }
    )


def limits(root: Path = ROOT) -> Facts:
    """CPUs and bytes that a control group allows."""
    quota = memory = None
    if path := _group(root, "cpu", "cpu.max"):
        quota = _quota(_text(path).split())
    elif path := _group(root, "cpu", "cpu.cfs_quota_us"):
        quota = _quota([_text(path), _text(path.with_name("cpu.cfs_period_us"))])
    for name in ("memory.max", "memory.limit_in_bytes"):
        if path := _group(root, "memory", name):
            memory = _number(_text(path))
    small = memory if memory is not None and memory < _UNLIMITED else None
    return _known({"cgroup_cpus": quota, "cgroup_memory": small})


def state(root: Path = ROOT) -> Facts:
    """Facts that change from case to case."""
    cpu = root / "sys/devices/system/cpu"
    load = _text(root / "proc/loadavg").split()
    memory = _table(_text(root / "proc/meminfo"))
    swap, free = memory.get("SwapTotal"), memory.get("SwapFree")
    return _known(
        {
            "governor": _text(cpu / "cpu0/cpufreq/scaling_governor"),
            "turbo": _turbo(cpu),
            "load_average": float(load[0]) if load and _is_number(load[0]) else None,
            "memory_available": memory.get("MemAvailable"),
            "swap_used": None if swap is None or free is None else swap - free,
        }
    )


def system(root: Path = ROOT) -> Facts:
    """The operating system, and the container around it."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', _text(root / "etc/os-release"), re.M))
    podman = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', _text(root / "run/.containerenv"), re.M))
    virtual = " hypervisor" in _text(root / "proc/cpuinfo")
    return _known(
        {
            "os": release.get("PRETTY_NAME"),
            "container": _container(root),
            "image": os.environ.get("ASSAY_IMAGE") or podman.get("image"),
            "image_digest": os.environ.get("ASSAY_IMAGE_DIGEST") or podman.get("imageid"),
            "virtual_machine": True if virtual else None,
        }
    )


def _processor(text: str) -> dict[str, Value | None]:
    pairs = [line.partition(":")[::2] for line in text.splitlines()]
    named = {name.strip(): value.strip() for name, value in pairs}  # assumes equal CPUs
    sockets = {value.strip() for name, value in pairs if name.strip() == "physical id"}
    flags = f"{named.get('flags', '')} {named.get('Features', '')}".split()
    return {
        "cpu": named.get("model name") or platform.processor() or None,
        "sockets": len(sockets) or None,
        "cpu_flags": " ".join(sorted(flag for flag in flags if _FLAGS.fullmatch(flag))),
    }


def _caches(folder: Path) -> dict[str, Value | None]:
    """Bytes of each level, of the first CPU, without instruction caches."""
    facts: dict[str, Value | None] = {}
    for index in sorted(folder.glob("index[0-9]*")):
        size = re.fullmatch(r"(\d+)([KM]?)", _text(index / "size"))
        if size and _text(index / "type") != "Instruction":
            scale = {"": 1, "K": 2**10, "M": 2**20}[size[2]]
            facts[f"cache_l{_text(index / 'level')}"] = int(size[1]) * scale
    return facts


def _turbo(cpu: Path) -> bool | None:
    off = _text(cpu / "intel_pstate/no_turbo")
    return (
        {"0": True, "1": False}.get(off)
        if off
        else {"1": True, "0": False}.get(_text(cpu / "cpufreq/boost"))
    )


def _container(root: Path) -> str | None:
    for mark, name in (("run/.containerenv", "podman"), (".dockerenv", "docker")):
        if (root / mark).exists():
            return name
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    return None


def _group(root: Path, controller: str, name: str) -> Path | None:
    return cgroup.file(controller, name, root / "sys/fs/cgroup", root / "proc/self/cgroup")


def _quota(words: list[str]) -> float | None:
    """Number of CPUs, from quota and period in microseconds; None for no limit (`max`, -1)."""
    numbers = [_number(word) for word in words]
    if len(numbers) == 2 and numbers[0] and numbers[1]:
        return numbers[0] / numbers[1]
    return None


def _table(text: str) -> dict[str, int]:
    """`Name:  123 kB` lines, in bytes."""
    return {name: 1024 * int(size) for name, size in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.M)}


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text) is not None


def _known(facts: dict[str, Value | None]) -> Facts:
    return {name: value for name, value in facts.items() if value is not None and value != ""}


def cores(text: str) -> int:
    """Physical cores, from the text of /proc/cpuinfo; 0 if not stated, as on ARM."""
    ids = set()
    for block in text.split("\n\n"):
        pairs = (line.partition(":")[::2] for line in block.splitlines())
        facts = {name.strip(): value.strip() for name, value in pairs}
        if "core id" in facts:
            ids.add((facts.get("physical id"), facts["core id"]))
    return len(ids)

"""This machine, its software and its variables → Environment, without anything secret."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from assay.records import Environment, Value

# Variables that can change a measurement; no other is stored.
_RELEVANT = re.compile(
    r"(ASSAY|CUDA|CUDNN|NVIDIA|NCCL|XLA|TF|JAX|KERAS|TORCH|PYTORCH|TRITON|INDUCTOR|OMP|KMP|GOMP|MKL|"
    r"OPENBLAS|ONEDNN|DNNL|MALLOC|ROCM|HIP|HSA|DEEPLEARNING|PERFZERO|OPT)_\w+"
    r"|LD_PRELOAD|PYTHON\w*"
)
_SECRET = re.compile(r"key|token|secret|passw|credential|auth|session|cookie", re.IGNORECASE)
_USERINFO = re.compile(r"(\w+://)[^/@\s]+@")
_HIDDEN = "(not stored)"


def here() -> Environment:
    """The parent's side; the worker adds its Python and its packages."""
    return Environment(
        machine=dict(_machine()),
        system={
            "platform": platform.platform(),
            "kernel": platform.release(),
            "hostname": platform.node(),
        },
        python={"version": platform.python_version(), "executable": sys.executable},
        variables=variables(dict(os.environ)),
        git=dict(_git()),
        command=command(sys.argv),
    )


def variables(found: dict[str, str]) -> dict[str, str]:
    """The relevant ones, sorted; a value whose name looks secret is hidden."""
    return {
        name: _HIDDEN if _SECRET.search(name) else _USERINFO.sub(r"\1", value)
        for name, value in sorted(found.items())
        if _RELEVANT.fullmatch(name)
    }


def command(words: list[str]) -> tuple[str, ...]:
    """A command line, with the value after or in a word that looks secret hidden."""
    safe: list[str] = []
    hide = False
    for word in words:
        name, equals, _ = word.partition("=")
        if hide:
            safe.append(_HIDDEN)
        elif equals and _SECRET.search(name):
            safe.append(f"{name}={_HIDDEN}")
        else:
            safe.append(_USERINFO.sub(r"\1", word))
        hide = word.startswith("-") and not equals and bool(_SECRET.search(word))
    return tuple(safe)


def safe_tags(tags: dict[str, str]) -> dict[str, str]:
    """Tags, with the value of one whose name looks secret hidden."""
    return {name: _HIDDEN if _SECRET.search(name) else value for name, value in tags.items()}


@cache
def _machine() -> tuple[tuple[str, Value], ...]:
    return (
        ("cpu", _cpu_model()),
        ("cpus", os.cpu_count() or 0),
        ("cpus_allowed", len(os.sched_getaffinity(0))),
        ("memory", os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
        ("architecture", platform.machine()),
    )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


@cache
def _git() -> tuple[tuple[str, Value], ...]:
    """Commit and state of the checkout one stands in; nothing where there is none."""
    commit = _git_says("rev-parse", "HEAD")
    if not commit:
        return ()
    return (
        ("commit", commit),
        ("branch", _git_says("rev-parse", "--abbrev-ref", "HEAD")),
        ("dirty", bool(_git_says("status", "--porcelain", "--untracked-files=no"))),
    )


def _git_says(*words: str) -> str:
    try:
        answer = subprocess.run(
            ["git", *words], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""

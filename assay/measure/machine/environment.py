"""Record this machine, its software and its variables as an Environment, without secrets."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from functools import cache

from assay.core.guard import MARK
from assay.core.records import Environment, Value
from assay.core.redaction import safe_text, safe_values, safe_words
from assay.measure.machine import gpus, kernel

# Only variables that can change a measurement are stored.
_RELEVANT = re.compile(
    r"(ASSAY|CUDA|CUDNN|NVIDIA|NCCL|XLA|TF|JAX|KERAS|TORCH|PYTORCH|TRITON|INDUCTOR|OMP|KMP|GOMP|MKL|"
    r"OPENBLAS|ONEDNN|DNNL|MALLOC|ROCM|HIP|HSA|DEEPLEARNING|PERFZERO|OPT)_\w+"
    r"|LD_PRELOAD|PYTHON\w*"
)

safe_tags = safe_values


def current_environment() -> Environment:
    """The parent's side; the worker adds its Python and its packages."""
    return Environment(
        machine={**_constant(), **kernel.state()},
        system={
            "platform": platform.platform(),
            "kernel": platform.release(),
            "hostname": platform.node(),
            **_software(),
            **_image(),
        },
        python={"version": platform.python_version(), "executable": sys.executable},
        variables=variables(dict(os.environ)),
        git=dict(_git()),
        command=safe_words(sys.argv),
    )


def variables(values: dict[str, str]) -> dict[str, str]:
    """The relevant ones, sorted; a value is hidden if its name looks secret."""
    relevant = (name for name in sorted(values) if _RELEVANT.fullmatch(name) and name != MARK)
    return safe_values({name: values[name] for name in relevant})


def _image() -> dict[str, Value]:
    """The digest of the container image, which `assay image run` sets."""
    digest = os.environ.get("ASSAY_IMAGE", "")
    return {"image": digest} if digest else {}


@cache
def _constant() -> dict[str, Value]:
    """Constant during a process; asking GPUs can take long."""
    return {**kernel.hardware(), **kernel.limits(), **gpus.gpus()}


@cache
def _software() -> dict[str, Value]:
    return {**kernel.system(), **gpus.libraries()}


@cache
def _git() -> tuple[tuple[str, Value], ...]:
    """Commit and state of the checkout around the current folder, if any."""
    return tuple(_git_state(_git_output("status", "--porcelain=v2", "--branch", "-uno")).items())


def _git_state(reported: str) -> dict[str, Value]:
    """From `git status`; empty without a repository."""
    heads = dict(re.findall(r"^# branch\.(oid|head) (.+)$", reported, re.MULTILINE))
    if "oid" not in heads:
        return {}
    dirty = any(line and not line.startswith("#") for line in reported.splitlines())
    return {"commit": heads["oid"], "branch": safe_text(heads.get("head", "")), "dirty": dirty}


def _git_output(*words: str) -> str:
    try:
        answer = subprocess.run(
            ["git", *words], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""

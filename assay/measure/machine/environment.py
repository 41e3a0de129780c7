"""This machine, its software and its variables → Environment, without anything secret."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from functools import cache

from assay.core.guard import MARK
from assay.core.records import Environment, Value
from assay.core.redaction import safe_values, safe_words
from assay.measure.machine import gpus, kernel

# Variables that can change a measurement; no other is stored.
_RELEVANT = re.compile(
    r"(ASSAY|CUDA|CUDNN|NVIDIA|NCCL|XLA|TF|JAX|KERAS|TORCH|PYTORCH|TRITON|INDUCTOR|OMP|KMP|GOMP|MKL|"
    r"OPENBLAS|ONEDNN|DNNL|MALLOC|ROCM|HIP|HSA|DEEPLEARNING|PERFZERO|OPT)_\w+"
    r"|LD_PRELOAD|PYTHON\w*"
)

safe_tags = safe_values


def here() -> Environment:
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


def variables(found: dict[str, str]) -> dict[str, str]:
    """The relevant ones, sorted; a value whose name looks secret is hidden."""
    relevant = (name for name in sorted(found) if _RELEVANT.fullmatch(name) and name != MARK)
    return safe_values({name: found[name] for name in relevant})


def _image() -> dict[str, Value]:
    """The digest of the container's image, where `assay image run` has told it."""
    found = os.environ.get("ASSAY_IMAGE", "")
    return {"image": found} if found else {}


@cache
def _constant() -> dict[str, Value]:
    """What does not change while a process lives; asking GPUs can take long."""
    return {**kernel.hardware(), **kernel.limits(), **gpus.gpus()}


@cache
def _software() -> dict[str, Value]:
    return {**kernel.system(), **gpus.libraries()}


@cache
def _git() -> tuple[tuple[str, Value], ...]:
    """Commit and state of the checkout one stands in; nothing where there is none."""
    return tuple(_git_state(_git_says("status", "--porcelain=v2", "--branch", "-uno")).items())


def _git_state(reported: str) -> dict[str, Value]:
    """From the one question that answers all three; a commit of `(initial)` is none yet."""
    heads = dict(re.findall(r"^# branch\.(oid|head) (.+)$", reported, re.MULTILINE))
    if "oid" not in heads:
        return {}
    dirty = any(line and not line.startswith("#") for line in reported.splitlines())
    return {"commit": heads["oid"], "branch": heads.get("head", ""), "dirty": dirty}


def _git_says(*words: str) -> str:
    try:
        answer = subprocess.run(
            ["git", *words], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""

"""What would make a result possible elsewhere: a lock of its packages, a recipe of a container."""

from __future__ import annotations

import json
import shlex

from assay import __version__
from assay.core.records import Result
from assay.core.redaction import HIDDEN

LOCK, RECIPE = "requirements.lock", "Containerfile"
_OURS = ("ASSAY_", "PYTHON")  # variables that assay sets itself
_PLACES = frozenset("/\\\n")  # in a value: it names a place of this machine


def lock(result: Result) -> str:
    """Every package the worker had loaded, at its version; a build of it is told beside it."""
    python = result.environment.python.get("version", "")
    lines = [f"# {result.id} {result.case.key}", f"# Python {python}; assay {__version__}"]
    for name, version in sorted(result.environment.packages.items()):
        public, plus, build = version.partition("+")
        lines.append(f"{name}=={public}" + (f"  # build {build}" if plus else ""))
    return "\n".join(lines) + "\n"


def recipe(result: Result, command: str) -> str:
    """For podman or docker: the same Python, packages and variables, and the command."""
    python = str(result.environment.python.get("version", "3.11"))
    lines = [
        f"# {result.id} {result.case.key}: podman build -t repro . && podman run repro",
        f"FROM python:{python}-slim",
        "WORKDIR /repro",
        f"COPY {LOCK} .",
        f"RUN pip install --no-cache-dir -r {LOCK} assay=={__version__}",
    ]
    if ".py:" in result.case.workload:
        lines.append(f"COPY {json.dumps(result.case.workload.rpartition(':')[0])} .")
    lines += [
        f"ENV {name}={json.dumps(value)}"
        for name, value in sorted(result.environment.variables.items())
        if not name.startswith(_OURS) and HIDDEN not in value and not _PLACES & set(value)
    ]
    return "\n".join([*lines, f"CMD {json.dumps(shlex.split(command))}"]) + "\n"

"""A reproduction → its table and JSON document."""

from __future__ import annotations

import shlex

from assay import __version__
from assay.commands.repro.answer import Reproduction
from assay.core.findings import Output, Table
from assay.core.records import Result
from assay.core.redaction import REDACTED
from assay.platforms.images.containerfile import ImageRecipe, containerfile


def output(reproduction: Reproduction) -> Output:
    rows = [
        ("result", reproduction.id),
        ("repro id", reproduction.repro),
        ("command", reproduction.command),
        ("inputs", f"sha256 {reproduction.inputs[:16]}…"),
        *(("missing", what) for what in reproduction.lacking),
        *(("changed", what) for what in reproduction.changed),
        *([("measured as", reproduction.again)] if reproduction.again else []),
        *(("written", name) for name in reproduction.files),
    ]
    table = Table(
        columns=("", "what"), rows=tuple(rows), title=f"{reproduction.id} {reproduction.sentence}"
    )
    return Output(tables=(table,), document=reproduction)


LOCK, RECIPE = "requirements.lock", "Containerfile"
_OWN_PACKAGES = ("ASSAY_", "PYTHON")  # variables that assay sets itself
_PATHS = frozenset("/\\\n")  # in a value: it names a place of this machine


def lock(result: Result) -> str:
    """Every package the worker had loaded with its version; the build is a comment."""
    python = result.environment.python.get("version", "")
    lines = [f"# {result.id} {result.case.key}", f"# Python {python}; assay {__version__}"]
    for name, version in sorted(result.environment.packages.items()):
        public, plus, build = version.partition("+")
        lines.append(f"{name}=={public}" + (f"  # build {build}" if plus else ""))
    return "\n".join([*lines, f"assay-lab=={__version__}"]) + "\n"


def recipe(result: Result, command: str) -> str:
    """For podman or docker: the same Python, packages and variables, and the command."""
    python = str(result.environment.python.get("version", "3.11"))
    file = result.case.workload.rpartition(":")[0] if ".py:" in result.case.workload else ""
    return containerfile(
        ImageRecipe(
            base=f"python:{python}-slim",
            title=f"{result.id} {result.case.key}: podman build -t repro . && podman run repro",
            requirements=LOCK,
            files=(file,) if file else (),
            variables={
                name: value
                for name, value in result.environment.variables.items()
                if not name.startswith(_OWN_PACKAGES)
                and REDACTED not in value
                and not _PATHS & set(value)
            },
            command=tuple(shlex.split(command)),
        )
    )

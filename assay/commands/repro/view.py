"""Whether a result was reproduced → lines for people, and its document."""

from __future__ import annotations

import shlex

from assay import __version__
from assay.commands.repro.answer import Reproduction
from assay.core.findings import Output, Table
from assay.core.records import Result
from assay.core.redaction import HIDDEN
from assay.platforms.images.containerfile import ImageRecipe, containerfile


def output(found: Reproduction) -> Output:
    rows = [
        ("result", found.id),
        ("repro id", found.repro),
        ("command", found.command),
        ("inputs", f"sha256 {found.inputs[:16]}…"),
        *(("missing", what) for what in found.lacking),
        *(("changed", what) for what in found.changed),
        *([("measured as", found.again)] if found.again else []),
        *(("written", name) for name in found.files),
    ]
    table = Table(columns=("", "what"), rows=tuple(rows), title=f"{found.id} {found.sentence}")
    return Output(tables=(table,), document=found)


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
    return "\n".join([*lines, f"assay=={__version__}"]) + "\n"


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
                if not name.startswith(_OURS) and HIDDEN not in value and not _PLACES & set(value)
            },
            command=tuple(shlex.split(command)),
        )
    )

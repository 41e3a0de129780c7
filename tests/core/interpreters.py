"""Other Pythons of this machine that assay supports, for what depends on the standard library."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

_MINORS = range(11, 20)
_ASK = "import sys; print('%d.%d.%d' % sys.version_info[:3])"


@cache
def interpreters() -> dict[str, str]:
    """Version → program: this one, those on the PATH and those of pyenv."""
    versions = {}
    for program in (sys.executable, *_others()):
        version = _version(program)
        if version and tuple(map(int, version.split("."))) >= (3, 11):
            versions.setdefault(version, program)
    return versions


def _others() -> list[str]:
    programs = [shutil.which(f"python3.{minor}") for minor in _MINORS]
    if pyenv := shutil.which("pyenv"):
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True).stdout.strip()
        programs += [str(path) for path in sorted(Path(root).glob("versions/3.*/bin/python3"))]
    return [program for program in programs if program]


def _version(program: str) -> str:
    """What it says of itself; "" where it does not run, as a shim of pyenv may not."""
    try:
        answer = subprocess.run([program, "-c", _ASK], capture_output=True, text=True)
    except OSError:
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""

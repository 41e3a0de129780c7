"""Write constraints.txt from the packages that are installed: `python tools/pin_versions.py`.

It pins everything that the dependencies and extras of pyproject.toml reach, so run it in an
environment with all extras (that of `make test`). Pins of packages that are not installed stay,
such as those of torch's build with CUDA. The constraints of uv in pyproject.toml are written anew.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
HEAD = """\
# Version of every package that the extras install, also of those that others need: used by make,
# CI and uvx. Written by tools/pin_versions.py. torch is pinned to its build without CUDA.
"""
BUILD = {"hatchling", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers"}
FRONTEND = {"build", "pyproject-hooks"}
BUILD_HEAD = """\
# What builds the distributions, with hashes that pip checks: `pip install --require-hashes`.
# Written by tools/pin_versions.py. An editable install, as in `make test`, cannot have hashes.
"""
BEGIN, END = "# begin of pins\n", "# end of pins\n"  # of pyproject.toml


def main() -> None:
    file = ROOT / "constraints.txt"
    file.write_text(constraints({**pins(file.read_text()), **reachable(requirements(ROOT))}))
    build = ROOT / "tools" / "build_requirements.txt"
    build.write_text(build_requirements(pins(file.read_text())))
    project = ROOT / "pyproject.toml"
    project.write_text(with_uv_settings(project.read_text(), pins(file.read_text())))


def constraints(versions: dict[str, str]) -> str:
    return HEAD + "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))


def build_requirements(versions: dict[str, str]) -> str:
    """What builds the distributions, with the hashes of its wheels, which pip downloads."""
    lines = [f"{name}=={versions[name]}" for name in sorted(BUILD | FRONTEND)]
    words = ["install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", "-"]
    report = json.loads(subprocess.check_output([sys.executable, "-m", "pip", *words, *lines]))
    hashes = {
        canonicalize_name(entry["metadata"]["name"]): entry["download_info"]["archive_info"]
        for entry in report["install"]
    }
    return BUILD_HEAD + "".join(
        f"{line} --hash=sha256:{hashes[line.partition('==')[0]]['hashes']['sha256']}\n"
        for line in lines
    )


def with_uv_settings(project: str, versions: dict[str, str]) -> str:
    """pyproject.toml with these versions: `uv run` reads constraints nowhere else.

    `uv run` resolves all extras on one index, where builds without CUDA have no name of their own.
    """
    before, _, rest = project.partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = [
        f'    "{name}=={version.partition("+")[0]}",\n'
        for name, version in sorted(versions.items())
    ]
    build = [line for line in lines if re.split(r'["=]', line)[1] in BUILD]
    return (
        f"{before}{BEGIN}constraint-dependencies = [\n{''.join(lines)}]\n"
        f"build-constraint-dependencies = [\n{''.join(build)}]\n{END}{after}"
    )


def pins(text: str) -> dict[str, str]:
    """Package → version, of a constraints file."""
    found = re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    return {str(canonicalize_name(name)): version for name, version in found}


def requirements(root: Path) -> list[str]:
    """All that pyproject.toml asks for: to build, to run, and in every extra."""
    document = tomllib.loads((root / "pyproject.toml").read_text())
    project = document["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    return [*document["build-system"]["requires"], *project["dependencies"], *extras]


def reachable(lines: Iterable[str]) -> dict[str, str]:
    """Package → version of what is installed here and needed, directly or by another package."""
    waiting = [Requirement(line) for line in lines]
    versions: dict[str, str] = {}
    seen = set()
    while waiting:
        requirement = waiting.pop()
        for extra in {"", *requirement.extras}:
            key = (canonicalize_name(requirement.name), extra)
            if key in seen:
                continue
            seen.add(key)
            try:
                package = importlib.metadata.distribution(requirement.name)
            except importlib.metadata.PackageNotFoundError:
                continue
            versions[key[0]] = package.version
            needs = map(Requirement, package.requires or ())
            waiting += [n for n in needs if not n.marker or n.marker.evaluate({"extra": extra})]
    return versions


if __name__ == "__main__":
    main()

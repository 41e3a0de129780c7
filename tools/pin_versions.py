"""Write constraints.txt from the packages that are installed: `python tools/pin_versions.py`.

It pins everything that the dependencies and extras of pyproject.toml reach, so run it in an
environment with all extras (that of `make test`). Pins of packages that are not installed stay.
"""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
HEAD = """\
# Version of every package that the extras install, also of those that others need: used by make,
# CI and uv. Written by tools/pin_versions.py. torch is pinned to its build without CUDA.
"""


def main() -> None:
    file = ROOT / "constraints.txt"
    file.write_text(constraints({**pins(file.read_text()), **reachable(requirements(ROOT))}))
    (ROOT / "uv.toml").write_text(uv_settings(pins(file.read_text())))


def constraints(versions: dict[str, str]) -> str:
    return HEAD + "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))


def uv_settings(versions: dict[str, str]) -> str:
    """What `uv run` reads in a checkout; other commands of uv take constraints.txt itself."""
    lines = "".join(f'    "{name}=={version}",\n' for name, version in sorted(versions.items()))
    return (
        "# Written by tools/pin_versions.py from constraints.txt.\n"
        f"constraint-dependencies = [\n{lines}]\n"
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

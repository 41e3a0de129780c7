"""Revisions between a good and a bad one: commits of a repository, or versions of a package."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Literal, NamedTuple

from assay.core.errors import AssayError, UsageError
from assay.core.records import Case
from assay.measure import contenders
from assay.measure.git import run_git

_PINNED = re.compile(r"(?P<name>[A-Za-z0-9._-]+(?:\[[^\]]*\])?)==(?P<version>[^=\s]+)")
_INSTALL = (sys.executable, "-m", "pip", "install")
TIMEOUT = 1800.0  # seconds, to install one version


class Revisions(NamedTuple):
    """From the good to the bad one, both included."""

    kind: Literal["commit", "package"]
    package: str  # "" of commits
    names: tuple[str, ...]


class BuildError(AssayError):
    """A revision that cannot be built or installed: it is skipped."""


def find_revisions(case: Case, good: str, bad: str) -> Revisions:
    """Two `NAME==VERSION` are versions of a package, everything else commits."""
    pins = [_PINNED.fullmatch(text) for text in (good, bad)]
    if pins[0] and pins[1]:
        return _versions(pins[0], pins[1])
    if pins[0] or pins[1]:
        raise UsageError(
            f"'{good}' and '{bad}' are not of the same kind.",
            hint="Two commits, or NAME==VERSION twice.",
        )
    return _commits(case, good, bad)


def _commits(case: Case, good: str, bad: str) -> Revisions:
    first, last = (contenders.commit_hash(case, text) for text in (good, bad))
    if first == last:
        raise UsageError(
            f"{good} and {bad} are the same commit.", hint="There is nothing between them."
        )
    root = contenders.repository(case)
    commits = run_git(
        "rev-list", "--reverse", "--topo-order", "--ancestry-path", f"{first}..{last}", folder=root
    )
    if not commits:
        raise UsageError(
            f"{bad} does not come after {good}.",
            hint=f"Is it the other way round? git -C {root} log --oneline {bad}..{good}",
        )
    return Revisions("commit", "", (first, *commits.split()))


def _versions(good: re.Match[str], bad: re.Match[str]) -> Revisions:
    name = good["name"]
    if name != bad["name"]:
        raise UsageError(
            f"{name} and {bad['name']} are two packages.",
            hint=f"Two versions of one, as in --good {name}==1.0 --bad {name}==2.0",
        )
    known = _available_versions(name)
    for version in (good["version"], bad["version"]):
        if version not in known:
            raise UsageError(
                f"The package index has no {name}=={version}.",
                hint=f"It has: {', '.join(known[-8:])}.",
            )
    first, last = known.index(good["version"]), known.index(bad["version"])
    step = 1 if first <= last else -1
    chosen = known[first : last + step or None : step] if first != last else [known[first]]
    return Revisions("package", name, tuple(chosen))


def _available_versions(name: str) -> list[str]:
    """From pip, with its own settings; oldest first."""
    bare = name.partition("[")[0]
    output = _run([sys.executable, "-m", "pip", "index", "versions", "--", bare], f"find {bare}")
    match = re.search(r"Available versions: (.+)", output)
    if not match:
        raise UsageError(f"The package index has no version of {bare}.", hint="Check the spelling.")
    return [version.strip() for version in match[1].split(",")][::-1]


def environment(folder: Path, package: str, version: str) -> Path:
    """A virtual environment with this version before everything that is installed here."""
    root = folder / f"{package.partition('[')[0]}-{version}"
    if (root / "ready").exists():
        return root
    venv.create(root, with_pip=False, symlinks=True, clear=True)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(root), "platbase": str(root)}))
    words = ("--quiet", "--no-warn-conflicts", "--no-deps", "--target", str(own))
    _run([*_INSTALL, *words, *_packages_to_pin(package, version)], f"install {package}=={version}")
    here = sysconfig.get_path("purelib")
    (own / "_below.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    (root / "ready").touch()
    return root


def _packages_to_pin(package: str, version: str) -> list[str]:
    """The version, and those dependencies that have to change for it (jaxlib, of jax), as resolved
    by a dry run of pip."""
    pin = f"{package}=={version}"
    report = _run(
        [*_INSTALL, "--quiet", "--dry-run", "--report", "-", pin], f"resolve what {pin} needs"
    )
    packages = (part["metadata"] for part in json.loads(report)["install"])
    own = _normalize_name(package.partition("[")[0])
    return [
        pin,
        *(
            f"{item['name']}=={item['version']}"
            for item in packages
            if _normalize_name(item["name"]) != own
        ),
    ]


def _normalize_name(name: str) -> str:
    """Normalized as by the package index."""
    return re.sub(r"[-_.]+", "-", name).lower()


def build(command: str, folder: Path) -> None:
    """Run the build command of a checkout in its folder, without a shell."""
    words = shlex.split(command)
    try:
        _run(words, f"build with '{command}'", folder)
    except FileNotFoundError:
        raise UsageError(
            f"The build command '{words[0]}' was not found.", hint="--build 'make -j2'"
        ) from None


def _run(words: list[str], what: str, folder: Path | None = None) -> str:
    try:
        process = subprocess.run(
            words,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"It took longer than {TIMEOUT:g} s to {what}.") from None
    if process.returncode:
        lines = (process.stderr or process.stdout).strip().splitlines() or ["no message"]
        raise BuildError(f"Failed to {what}: {lines[-1]}", hint=shlex.join(words))
    return process.stdout

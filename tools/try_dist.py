"""Install what `make dist` built into empty environments, and run assay there.

python tools/try_dist.py dist

The wheel and the sdist are installed as files, the wheel by the name that hints and docs use, a
folder of the sources by the line for a checkout, and the package of HPVM's names by its
dependency.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONSTRAINTS = (Path(__file__).absolute().parents[1] / "constraints.txt").as_uri()
PINS = ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT")  # for packages that a build needs too
NAME, EXTRA, MODULE = "assay-lab", "data", "h5py"  # the distribution, an extra and what it brings


def main() -> None:
    dist = Path(sys.argv[1]).absolute()
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    for built in (wheel, sdist):
        with environment() as (place, install):
            install(built)
            try_assay(place)
        report(built.name)
    with environment(dist, dist / "foreign") as (place, install):
        install(f"{NAME}[{EXTRA}]")
        try_assay(place)
        run(place, "python", "-c", f"import {MODULE}")
        report(f"{NAME}[{EXTRA}]")
        install("assay-hpvm")
        run(place, "python", "-m", "pip", "check")
        run(place, "python", "-c", FOREIGN)
        report("assay-hpvm")
    with environment() as (place, install), tarfile.open(sdist) as archive:
        archive.extractall(place / "sources", filter="data")
        (checkout,) = (place / "sources").iterdir()
        install(f".[{EXTRA}]", cwd=checkout)
        try_assay(place)
        run(place, "python", "-c", f"import {MODULE}")
        report(f".[{EXTRA}]")


@contextmanager
def environment(*links: Path) -> Iterator[tuple[Path, Installer]]:
    """An empty environment in a folder, and a function that installs into it."""
    with tempfile.TemporaryDirectory(prefix="assay-dist-") as folder:
        place = Path(folder)
        venv.create(place / "venv", with_pip=True)
        yield place, Installer(place, links)


class Installer:
    def __init__(self, place: Path, links: tuple[Path, ...]) -> None:
        self.place = place
        self.options = [f"--find-links={folder}" for folder in links]

    def __call__(self, requirement: object, cwd: Path | None = None) -> None:
        words = ("python", "-m", "pip", "install", "--quiet", *self.options, requirement)
        run(self.place, *words, cwd=cwd)


def try_assay(place: Path) -> None:
    """The command, a measurement, and files that are not Python."""
    (place / "add.py").write_text("def add():\n    return lambda: sum(range(1000))\n")
    run(place, "assay", "--version")
    run(place, "assay", "run", "add.py:add@python", "--samples", "5", "--budget", "200ms")
    run(place, "python", "-m", "assay", "show", "last")
    run(place, "python", "-c", NATIVE)


def run(place: Path, program: str, *words: object, cwd: Path | None = None) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables = kept | {"ASSAY_HOME": str(place / "home"), **dict.fromkeys(PINS, CONSTRAINTS)}
    command = [str(place / "venv" / "bin" / program), *map(str, words)]
    subprocess.run(command, cwd=cwd or place, env=variables, check=True)


def report(name: str) -> None:
    print(f"{name}: installs and runs", flush=True)


# What a build could forget: files that are not Python.
FOREIGN = f"""
import importlib.metadata
from Benchmark import Benchmark
from keras_frontend import weight_utils
from keras_frontend.approxhpvm_translator import translate_to_approxhpvm

names = {{package.name for package in importlib.metadata.distributions()}}
assert "{NAME}" in names and "assay" not in names, names
assert "{NAME}" in importlib.metadata.requires("assay-hpvm")
"""
NATIVE = "from assay.native.build import RUNTIME; assert list(RUNTIME.glob('*.cpp')), RUNTIME"


if __name__ == "__main__":
    main()

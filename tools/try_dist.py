"""Install the wheel, then the sdist, each into an empty environment, and run assay there.

python tools/try_dist.py dist
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    for pattern in ("*.whl", "*.tar.gz"):
        (built,) = folder.glob(pattern)
        with tempfile.TemporaryDirectory(prefix="assay-dist-") as place:
            try_out(built, Path(place))
        print(f"{built.name}: installs and runs", flush=True)


def try_out(built: Path, place: Path) -> None:
    venv.create(place / "venv", with_pip=True)
    run = place / "venv" / "bin"
    _call(run / "python", "-m", "pip", "install", "--quiet", str(built), at=place)
    (place / "add.py").write_text("def add():\n    return lambda: sum(range(1000))\n")
    _call(run / "assay", "--version", at=place)
    _call(
        run / "assay", "run", "add.py:add@python", "--samples", "5", "--budget", "200ms", at=place
    )
    _call(run / "python", "-m", "assay", "show", "last", at=place)
    _call(run / "python", "-c", NATIVE, at=place)
    (foreign,) = (built.parent / "foreign").glob("*.whl")  # HPVM's names, which ask for Keras too
    _call(run / "python", "-m", "pip", "install", "--quiet", "--no-deps", str(foreign), at=place)
    _call(run / "python", "-c", FOREIGN, at=place)


# What a build could forget: files that are no Python.
FOREIGN = (
    "from Benchmark import Benchmark; from keras_frontend import weight_utils; "
    "from keras_frontend.approxhpvm_translator import translate_to_approxhpvm"
)
NATIVE = "from assay.native.build import RUNTIME; assert list(RUNTIME.glob('*.cpp')), RUNTIME"


def _call(*words: object, at: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment = clean | {"ASSAY_HOME": str(at / "home")}
    subprocess.run(list(map(str, words)), cwd=at, env=environment, check=True)


if __name__ == "__main__":
    main()

"""Try an extra at the lowest versions that pyproject.toml allows, in an empty environment.

python tools/try_bounds.py jax               the core and the extra, each at its lower bound
python tools/try_bounds.py jax --newest      each at the newest that pip finds
python tools/try_bounds.py core              the core alone, with its tests and the command line's
python tools/try_bounds.py jax keras==3.10   other versions, to find what a bound should be
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN = ("-m", "assay", "run", "--samples", "5", "--steps-per-sample", "1", "--batch-size", "8")
# Without what a start loads: older versions of click and msgspec load more themselves.
TESTS = (
    *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not loads_nothing"),
    *("tests/core", "tests/cli/test_main.py"),
)
# Extra → what has to work with it, as words for Python.
SMOKE = {
    "core": [("-m", "assay", "run", "tests/data/endings.py:fine@python", "--samples", "5"), TESTS],
    "jax": [(*RUN, "mnist-mlp@jax", "mnist-mlp@keras-jax")],
    "tensorflow": [(*RUN, "mnist-mlp@tensorflow", "mnist-mlp@keras-tensorflow")],
    "torch": [(*RUN, "mnist-mlp@torch", "mnist-mlp@keras-torch")],
    "onnxruntime": [(*RUN, "--mode", "infer", "mnist-mlp@onnxruntime")],
    "openvino": [(*RUN, "--mode", "infer", "mnist-mlp@openvino")],
    "native": [(*RUN, "--mode", "infer", "mnist-mlp@native")],
}
TOOLS = {"core": ["hypothesis", "pytest", "pytest-timeout"]}  # that the smoke test itself needs


def main() -> None:
    extra, *rest = sys.argv[1:] or ["?"]
    if extra not in SMOKE:
        sys.exit(f"There is no extra '{extra}' to try; one of: {', '.join(SMOKE)}.")
    chosen = [word for word in rest if word != "--newest"]
    wanted = requirements(extra, lowest="--newest" not in rest, chosen=chosen)
    with tempfile.TemporaryDirectory(prefix="assay-bounds-") as place:
        try_out(extra, wanted, Path(place))


def requirements(extra: str, lowest: bool, chosen: list[str]) -> list[str]:
    """Of the core and the extra; a lower bound becomes that version, unless another is chosen."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"].get(extra, ())]
    named = {_name(text) for text in chosen}
    found = [text for text in wanted if _name(text) not in named]
    return [text.replace(">=", "==") if lowest else text for text in found] + chosen


def try_out(extra: str, wanted: list[str], place: Path) -> None:
    venv.create(place / "venv", with_pip=True)
    python = place / "venv" / "bin" / "python"
    _call(python, "-m", "pip", "install", "--quiet", *wanted, *TOOLS.get(extra, ()), at=place)
    _call(python, "-m", "pip", "list", "--format", "freeze", at=place)
    for words in SMOKE[extra]:
        _call(python, *words, at=place)
    print(f"{extra} works with {', '.join(wanted)}", flush=True)


def _name(requirement: str) -> str:
    return re.split(r"[<>=~! ;\[]", requirement, maxsplit=1)[0]


def _call(*words: object, at: Path) -> None:
    """In the checkout, whose code is run as it is, not installed."""
    variables = {"PYTHONPATH": str(ROOT), "ASSAY_HOME": str(at / "home"), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(list(map(str, words)), cwd=ROOT, env=os.environ | variables)
    if done.returncode:
        sys.exit(f"This failed: {' '.join(map(str, words))}")


if __name__ == "__main__":
    main()

"""The interpreter and environment variables of a worker."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import assay
from assay.core import registry, start
from assay.core.errors import EndingError
from assay.core.records import Case
from assay.measure import shared_cache

PACKAGE = Path(assay.__file__).parent

# Equal for every contender: no framework reserves a whole device or floods the log.
COMMON_VARIABLES = {
    "PYTHONHASHSEED": "0",
    "PYTHONUNBUFFERED": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}

# Without the current folder: see core/start.py.
_FIND_MSGSPEC = (
    "import sys; sys.path[:] = [place for place in sys.path if place]; import importlib.util; "
    "sys.exit(importlib.util.find_spec('msgspec') is None)"
)


def interpreter(case: Case, folder: Path, module: str = "assay.worker") -> list[str]:
    """The command that starts a worker for this case. Another interpreter finds assay, but nothing
    else of this environment, after its own packages."""
    chosen = str(case.options.get("python", ""))
    if not chosen:
        return start.command(module)
    python = python_of(chosen)
    if not os.access(python, os.X_OK):
        raise EndingError("skipped", f"there is no Python interpreter at {python}")
    _check_modules(python)
    borrowed = folder / "borrowed"
    borrowed.mkdir(exist_ok=True)
    (borrowed / "assay").symlink_to(PACKAGE)
    return start.command(module, str(python.absolute()), str(borrowed.absolute()))


def python_of(chosen: str) -> Path:
    """The interpreter of a virtual environment, or the one named."""
    return Path(chosen) / "bin" / "python" if Path(chosen).is_dir() else Path(chosen)


def _check_modules(python: Path) -> None:
    """Without msgspec the worker could not even report that it is missing."""
    try:
        ran = subprocess.run(
            [python, "-c", _FIND_MSGSPEC], capture_output=True, timeout=60, check=False
        )
    except OSError as error:
        raise EndingError("failed", f"{python} did not start: {error.strerror}") from None
    except subprocess.TimeoutExpired as error:
        raise EndingError("failed", f"{python} did not answer in {error.timeout:g} s") from None
    if ran.returncode == 1:
        raise EndingError(
            "skipped", f"in {python}, msgspec is not installed, which every worker needs"
        )


def variables(case: Case, folder: Path) -> dict[str, str]:
    """Variables in addition to the user's."""
    threads = case.options.get("threads", "all")
    count = {"OMP_NUM_THREADS": str(threads)} if threads != "all" else {}
    return {
        **COMMON_VARIABLES,
        **_store(folder),
        **shared_cache.variables(folder),
        **count,
        **registry.backend(case.backend).variables(case, folder),
    }


def home_of(folder: Path) -> Path | None:
    """The folder of data, from the folder of a case: `HOME/runs/RUN/NNN` or, with a remote store,
    `HOME/stores/NAME/runs/RUN/NNN`."""
    runs = next((parent for parent in folder.absolute().parents if parent.name == "runs"), None)
    if runs is None:
        return None
    return runs.parents[2] if runs.parents[1].name == "stores" else runs.parent


def _store(folder: Path) -> dict[str, str]:
    """For workers that read data. They do not get the store's address or password."""
    home = home_of(folder)
    return {} if home is None else {"ASSAY_HOME": str(home), "ASSAY_STORE": ""}

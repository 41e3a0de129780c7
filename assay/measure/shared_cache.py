"""Caches that the processes of a run share: weights; compiled code and captured graphs.

They are folders in the run, removed at its end. Weights are shared by any run that opens a network
more than once; compiled code by ab, race and study only, because a plain run measures the first
step, which compiles. `cold` disables both.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.records import Case, Plan
from assay.core.settings import CACHED_WEIGHTS, SHARED_CACHE

NAME = "shared-cache"
WEIGHTS = "shared-weights"
SHARING_COMMANDS = frozenset({"ab", "race", "study"})  # open a case in many processes
SHARED_NOTE = "compiled code is shared between the processes of a case; --cold leaves that out"


@contextmanager
def shared_cache_dir(folder: Path, plan: Plan) -> Iterator[None]:
    shared = {NAME: is_shared(plan), WEIGHTS: are_weights_shared(plan)}
    folders = [folder / name for name, is_shared in shared.items() if is_shared]
    for path in folders:
        path.mkdir(exist_ok=True)
    try:
        yield
    finally:
        for path in folders:
            shutil.rmtree(path, ignore_errors=True)


def is_shared(plan: Plan) -> bool:
    return plan.verb in SHARING_COMMANDS and not plan.procedure.cold


def are_weights_shared(plan: Plan) -> bool:
    """Whether a network is opened more than once: a file that nobody reads would cost time."""
    opened = Counter(_weights_key(case) for case in plan.cases)
    again = plan.procedure.processes > 1 or any(count > 1 for count in opened.values())
    return is_shared(plan) or (again and not plan.procedure.cold)


def _weights_key(case: Case) -> str:
    """All that its weights depend on."""
    return f"{case.workload} {sorted((k, v) for k, v in case.params.items() if k != 'batch_size')}"


def notes(plan: Plan) -> list[str]:
    compiled = any(case.options.get("compiler", "off") != "off" for case in plan.cases)
    return [SHARED_NOTE] if compiled and is_shared(plan) else []


def variables(folder: Path) -> dict[str, str]:
    """For the process with this folder, that of a case or one below it.

    Without a shared cache compiled code is never reused: inductor's own cache would make a first
    step depend on earlier runs of the user.
    """
    compiled, weights = _find_parent_dir(folder, NAME), _find_parent_dir(folder, WEIGHTS)
    shared = {CACHED_WEIGHTS: str(weights)} if weights else {}
    if not compiled:
        return {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", **shared}
    return {
        **shared,
        SHARED_CACHE: str(compiled),
        "TORCHINDUCTOR_CACHE_DIR": str(compiled / "inductor"),
        "TRITON_CACHE_DIR": str(compiled / "triton"),
        "JAX_COMPILATION_CACHE_DIR": str(compiled / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def _find_parent_dir(folder: Path, name: str) -> Path | None:
    folders = (parent / name for parent in folder.absolute().parents[:2])
    return next((path for path in folders if path.is_dir()), None)

"""What the processes of one ab, race or study make once and share: compiled code, captured graphs.

The cache is a folder beside the cases of a run, there while the run is measured. Who wants to know
what the first step costs leaves it out (`cold`), and a plain run never has one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.records import Plan
from assay.core.settings import SHARED_CACHE

NAME = "shared-cache"
VERBS = frozenset({"ab", "race", "study"})  # that open one case in many processes
NOTE = "compiled code is shared between the processes of a case; --cold leaves that out"


@contextmanager
def beside_cases(folder: Path, plan: Plan) -> Iterator[None]:
    """The cache of a run, if its plan is of those that share."""
    place = folder / NAME
    if not shares(plan):
        yield
        return
    place.mkdir(exist_ok=True)
    try:
        yield
    finally:
        shutil.rmtree(place, ignore_errors=True)


def shares(plan: Plan) -> bool:
    return plan.verb in VERBS and not plan.procedure.cold


def notes(plan: Plan) -> list[str]:
    """That compiled code is shared, where a case of the plan is compiled."""
    compiled = any(case.options.get("compiler", "off") != "off" for case in plan.cases)
    return [NOTE] if compiled and shares(plan) else []


def variables(folder: Path) -> dict[str, str]:
    """For the process whose case is kept in this folder.

    Without a shared cache nothing compiled is found again: by itself inductor would keep all it
    ever compiled for this user, and a first step would tell of the days before.
    """
    place = folder.absolute().parent / NAME
    if not place.is_dir():
        return {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    return {
        SHARED_CACHE: str(place),
        "TORCHINDUCTOR_CACHE_DIR": str(place / "inductor"),
        "TRITON_CACHE_DIR": str(place / "triton"),
        "JAX_COMPILATION_CACHE_DIR": str(place / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }

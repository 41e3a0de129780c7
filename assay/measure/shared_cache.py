"""What the processes of a run make once and share: weights; compiled code and captured graphs.

Each is a folder beside the cases of a run, there while the run is measured. Weights are shared by
any run that opens a net more than once. Compiled code is by ab, race and study alone: a plain run
tells what a first step costs. Who wants that of the others leaves both out (`cold`).
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.records import Case, Plan
from assay.core.settings import KEPT_WEIGHTS, SHARED_CACHE

NAME = "shared-cache"
WEIGHTS = "shared-weights"
VERBS = frozenset({"ab", "race", "study"})  # that open one case in many processes
NOTE = "compiled code is shared between the processes of a case; --cold leaves that out"


@contextmanager
def beside_cases(folder: Path, plan: Plan) -> Iterator[None]:
    """The caches of a run, if its plan is of those that share."""
    wanted = {NAME: shares(plan), WEIGHTS: shares_weights(plan)}
    places = [folder / name for name, shared in wanted.items() if shared]
    for place in places:
        place.mkdir(exist_ok=True)
    try:
        yield
    finally:
        for place in places:
            shutil.rmtree(place, ignore_errors=True)


def shares(plan: Plan) -> bool:
    return plan.verb in VERBS and not plan.procedure.cold


def shares_weights(plan: Plan) -> bool:
    """Whether one net is opened more than once: a file that nobody reads would cost time."""
    opened = Counter(_net(case) for case in plan.cases)
    again = plan.procedure.processes > 1 or any(count > 1 for count in opened.values())
    return shares(plan) or (again and not plan.procedure.cold)


def _net(case: Case) -> str:
    """What its weights depend on."""
    return f"{case.workload} {sorted((k, v) for k, v in case.params.items() if k != 'batch_size')}"


def notes(plan: Plan) -> list[str]:
    """That compiled code is shared, where a case of the plan is compiled."""
    compiled = any(case.options.get("compiler", "off") != "off" for case in plan.cases)
    return [NOTE] if compiled and shares(plan) else []


def variables(folder: Path) -> dict[str, str]:
    """For the process that has this folder: the case's own, or one in it.

    Without a shared cache nothing compiled is found again: by itself inductor would keep all it
    ever compiled for this user, and a first step would tell of the days before.
    """
    place, weights = _above(folder, NAME), _above(folder, WEIGHTS)
    kept = {KEPT_WEIGHTS: str(weights)} if weights else {}
    if not place:
        return {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", **kept}
    return {
        **kept,
        SHARED_CACHE: str(place),
        "TORCHINDUCTOR_CACHE_DIR": str(place / "inductor"),
        "TRITON_CACHE_DIR": str(place / "triton"),
        "JAX_COMPILATION_CACHE_DIR": str(place / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def _above(folder: Path, name: str) -> Path | None:
    places = (above / name for above in folder.absolute().parents[:2])
    return next((place for place in places if place.is_dir()), None)

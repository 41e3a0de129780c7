"""A model by name → Graph. Keras is loaded in a process of its own, never in this one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from assay import plan, registry, world
from assay.backends import engines
from assay.errors import AssayError, NotPossibleError, UsageError
from assay.native import files
from assay.native.graph import Graph
from assay.records import Case, Value

MODELS = {".keras", ".h5", ".hdf5"}  # files that hold a whole model
TIMEOUT = 600.0  # seconds, for loading Keras and building the largest model


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the other process is to capture."""

    model: str  # a file of MODELS, or a workload
    weights: str = ""
    params: dict[str, Value] = {}  # of the workload, every one


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """An AssayError on its way between processes."""

    sentence: str
    hint: str = ""
    status: int = 1


def graph_of(
    model: str,
    weights: str | Path = "",
    params: Mapping[str, Value] | None = None,
    timeout: float = TIMEOUT,
) -> Graph:
    """The graph of `WORKLOAD[:k=v,…]`, `FILE.py:NAME`, `FILE.keras` or `FILE.h5`.

    `weights` is any file of weights that fits; without one, a model has those it is built with.
    """
    if lacking := engines.lacking():
        raise NotPossibleError(
            f"{model} cannot be built: {lacking.partition(':')[0]}.",
            hint=lacking.partition(": ")[2],
        )
    asked = _checked(model, weights, params or {})
    with tempfile.TemporaryDirectory(prefix="assay-capture-") as folder:
        return _captured(asked, Path(folder), timeout)


def _checked(model: str, weights: str | Path, params: Mapping[str, Value]) -> Asked:
    """Every mistake that can be told without loading Keras."""
    held = str(Path(weights).expanduser().resolve()) if weights else ""
    if held and not Path(held).exists():
        raise UsageError(
            f"There is no weights file {weights}.",
            hint="It may be .npz, .keras, .weights.h5, .h5 or a folder of .bin files.",
        )
    if Path(model).suffix in MODELS:
        path = Path(model).expanduser().resolve()
        if not path.is_file():
            raise UsageError(f"There is no model file {model}.", hint="Save it with model.save.")
        return Asked(model=str(path), weights=held)
    case = plan.parse_case(model)
    if case.backend != "?":
        raise UsageError(
            f"{model} names a backend, but a model is asked for.", hint=f"Try: {case.workload}"
        )
    workload = registry.workload(case.workload)
    if engines.KIND not in workload.kinds:
        raise UsageError(
            f"{case.workload} has no Keras model: it is made for {', '.join(workload.kinds)}.",
            hint="assay list workloads shows those that have one.",
        )
    own = "weights" in workload.params  # it reads such a file itself, and knows its names
    given = {**case.params, **params, **({"weights": held} if own and held else {})}
    name = next(n for n in plan.opening(workload) if engines.KIND in registry.backend(n).accepts)
    whole = plan.resolve(Case(workload=case.workload, backend=name, params=given))
    return Asked(model=case.workload, weights="" if own else held, params=whole.params)


def _captured(asked: Asked, folder: Path, timeout: float) -> Graph:
    (folder / "asked.json").write_bytes(msgspec.json.encode(asked))
    command = [sys.executable, "-m", "assay.captureside", str(folder)]
    try:
        ended = subprocess.run(
            command,
            env={**os.environ, **_variables(folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise AssayError(
            f"{asked.model} was not captured within {timeout:g} s.",
            hint="Is something in its file waiting?",
        ) from None
    return _answer(asked, folder, ended.stderr.decode(errors="replace"))


def _variables(folder: Path) -> dict[str, str]:
    package = str(Path(__file__).parent.parent)
    return {
        **world.WORLD,
        **engines.world(engines.installed(), "channels_last", folder),
        "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH")))),
        "CUDA_VISIBLE_DEVICES": "",  # nothing is computed: a GPU would only be waited for
        "JAX_PLATFORMS": "cpu",
    }


def _answer(asked: Asked, folder: Path, said: str) -> Graph:
    refused = folder / "refused.json"
    if refused.exists():
        found = msgspec.json.decode(refused.read_bytes(), type=Refused)
        error = AssayError(found.sentence, hint=found.hint)
        error.status = found.status
        raise error
    if not (folder / "graph.npz").exists():
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "no word")
        raise AssayError(
            f"{asked.model} could not be captured: its process ended with: {last.strip()}",
            hint="Does the model compute an output in Keras?",
        )
    return files.read(folder / "graph.npz")

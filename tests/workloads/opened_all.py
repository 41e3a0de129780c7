"""Every workload opened by one backend in one process, for tests: `python FILE FOLDER ORDER`.

A worker of its own for each would start the framework dozens of times. The variables are those
`launch` would give a worker, set before a framework is loaded.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.records import Case
from assay.core.sessions import CountedByModel, Job
from assay.measure import plan

RESIDUAL = "image_size=64,blocks=1-1-1-1,narrower=16,classes=10"
ATTENTION = "layers=2,width=16,heads=2"
SMALL = {
    "lstm": "lstm:units=8,length=6,features=5",
    "gru": "gru:units=8,length=6,features=5",
    "resnet50": f"resnet50:{RESIDUAL}",
    "resnet50 subclassed": f"resnet50:style=subclassed,{RESIDUAL}",
    "resnet50 eager": f"resnet50:style=eager,{RESIDUAL}",
    "xception": "xception:image_size=48,middle=1,narrower=32,classes=10",
    "encoder": f"transformer-encoder:{ATTENTION},vocabulary=50,length=8",
    "decoder": f"transformer-decoder:{ATTENTION},vocabulary=50,length=16",
    "generation": f"transformer-decoder:task=generate,prompt=5,generated=6,{ATTENTION},"
    "vocabulary=500,length=16",
    "vit": f"vit:{ATTENTION},image_size=32,classes=10",
    "convnext": "convnext:deep=1,width=4,image_size=32,classes=10",
    "unet": "unet:filters=2,image_size=32",
    "dlrm": "dlrm:rows=20,depth=4",
}
PICTURES = ("resnet50", "xception", "vit", "convnext", "unet")
MODES = {"infer": "before", "train": "after"}  # and what its outputs are called


def taken_by_all(
    backend: str,
    folder: Path,
    names: Sequence[str] = tuple(SMALL),
    options: str = "",
    modes: Sequence[str] = tuple(MODES),
) -> dict[str, dict[str, Any]]:
    """An inference and two training steps of each; name → facts, items, outputs before, after.

    Taken once for a folder, also when several processes ask at the same time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "outputs.npz").exists():
            _take(backend, folder, names, options, modes)
    found: dict[str, dict[str, Any]] = json.loads((folder / "facts.json").read_text())
    with np.load(folder / "outputs.npz") as arrays:
        for key, array in arrays.items():
            name, _, when = key.rpartition(" ")
            found[name][when] = array
    return found


def _take(
    backend: str, folder: Path, names: Sequence[str], options: str, modes: Sequence[str]
) -> None:
    asked = {name: f"{SMALL[name]},batch_size=2@{backend}:{options}mode=" for name in names}
    world = registry.backend(backend).variables(_case(asked[names[0]], "train"), folder)
    subprocess.run(
        [sys.executable, __file__, str(folder), json.dumps(asked), *modes],
        env={**os.environ, **world, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )


def main(folder: Path, asked: dict[str, str], modes: Sequence[str]) -> None:
    facts: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for name, text in asked.items():
        for mode in modes:
            case = _case(text, mode)
            build = Build(case)
            with registry.backend(case.backend).open(build, case) as session:
                for _ in range(2):
                    session.step()
                session.wait()
                arrays[f"{name} {MODES[mode]}"] = session.outputs()
                facts[name] = {"facts": dict(session.facts()), "items": session.items}
        facts[name]["macs"] = session.macs()
        facts[name]["expected"] = build.made.multiply_adds * session.items
        if isinstance(session, CountedByModel):
            facts[name]["multiply_adds"] = session.multiply_adds()
    (folder / "facts.json").write_text(json.dumps(facts))
    np.savez(folder / "outputs.npz", **arrays)


def _case(text: str, mode: str) -> Case:
    return plan.resolve(parse_case(text + mode))


class Build:
    """The builder of a case's job, which keeps the job."""

    def __init__(self, case: Case) -> None:
        kinds = registry.workload(case.workload).kinds
        accepts = registry.backend(case.backend).accepts
        self._make = next(kinds[kind] for kind in kinds if kind in accepts)
        self._params = case.params

    def __call__(self) -> Job:
        self.made = self._make(**self._params)
        return self.made


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:])

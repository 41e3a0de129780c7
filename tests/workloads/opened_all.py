"""Every workload opened by one backend in one process, for tests: `python FILE FOLDER BACKEND`.

A worker of its own for each would start the framework dozens of times. The world is the worker's:
this process is started by it, so that its variables are set before a framework is loaded.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from assay import plan, registry
from assay.records import Case

SMALL = {
    "lstm": ":units=8,length=6,features=5",
    "gru": ":units=8,length=6,features=5",
    "resnet50": ":image_size=32,blocks=1-1-2-1,narrower=16,classes=10",
    "resnet50-subclassed": ":style=subclassed,image_size=32,blocks=1-1-2-1,narrower=16,classes=10",
    "resnet50-eager": ":style=eager,image_size=32,blocks=1-1-2-1,narrower=16,classes=10",
    "xception": ":image_size=48,middle=1,narrower=32,classes=10",
    "transformer-encoder": ":layers=2,width=16,heads=2,vocabulary=50,length=8",
    "transformer-decoder": ":layers=2,width=16,heads=2,vocabulary=50,length=16",
    "transformer-decoder-generate": ":task=generate,prompt=5,generated=6,"
    "layers=2,width=16,heads=2,vocabulary=50,length=16",
    "vit": ":layers=2,width=16,heads=2,image_size=32,classes=10",
    "convnext": ":deep=1,width=4,image_size=32,classes=10",
    "unet": ":filters=2,image_size=32",
    "dlrm": ":rows=20,depth=4",
}
NAMES = {"resnet50-subclassed", "resnet50-eager", "transformer-decoder-generate"}


def case(name: str, backend: str, options: str = "") -> Case:
    workload = name.rpartition("-")[0] if name in NAMES else name
    return plan.resolve(plan.parse_case(f"{workload}{SMALL[name]},batch_size=2@{backend}{options}"))


def taken_by_all(backend: str, folder: Path, **variables: str) -> dict[str, dict[str, Any]]:
    """Two training steps and an inference of each; name → facts, items, outputs."""
    folder.mkdir(parents=True, exist_ok=True)
    world = registry.backend(backend).world(case("lstm", backend), folder)
    subprocess.run(
        [sys.executable, __file__, str(folder), backend],
        env={**os.environ, **world, **variables, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    found = json.loads((folder / "facts.json").read_text())
    with np.load(folder / "outputs.npz") as arrays:
        for key, array in arrays.items():
            name, _, when = key.rpartition("/")
            found[name][when] = array
    return found


def main(folder: Path, backend: str) -> None:
    facts: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for name in SMALL:
        asked = case(name, backend)
        workload, opener = registry.workload(asked.workload), registry.backend(backend)
        kind = next(kind for kind in workload.kinds if kind in opener.accepts)
        build = functools.partial(workload.kinds[kind], **asked.params)
        with opener.open(build, asked) as session:
            arrays[f"{name}/before"] = session.outputs()
            for _ in range(2):
                session.step()
            session.wait()
            arrays[f"{name}/after"] = session.outputs()
            facts[name] = {"facts": dict(session.facts()), "items": session.items}
    (folder / "facts.json").write_text(json.dumps(facts))
    np.savez(folder / "outputs.npz", **arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

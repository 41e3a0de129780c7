"""docs/workloads.md says which backend runs what; here it is seen to be so."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from assay.backends.captured import capture_job
from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.errors import AssayError
from assay.measure import plan
from assay.native.emit import emit
from assay.native.onnx.file import onnx_bytes
from assay.native.passes.pipeline import optimize
from tests.backends.opened import SMALL as NETS
from tests.workloads.opened_all import SMALL as ZOO

PAGE = Path(__file__).parents[2] / "docs" / "workloads.md"
RUNTIMES = ("onnxruntime", "openvino", "native")
NO = ("no", "a style of Keras")
SMALL = {
    **NETS,
    **{text.partition(":")[0]: text for name, text in ZOO.items() if " " not in name},
    "resnet50:style=subclassed": ZOO["resnet50 subclassed"],
    "resnet50:style=eager": ZOO["resnet50 eager"],
    "transformer-decoder": ZOO["decoder"],
    "transformer-decoder:task=generate": ZOO["generation"],
}


def said() -> dict[tuple[str, str], bool]:
    """(workload, backend) → whether the page says that it runs."""
    table = PAGE.read_text().partition("## Which backend runs what")[2].partition("```")[0]
    first, _, *rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in table.splitlines()
        if line.startswith("|")
    ]
    return {
        (workload, backend): cell not in NO
        for names, *cells in rows
        for head, cell in zip(first[1:], cells, strict=True)
        for workload in re.findall("`([^`]+)`", names)
        for backend in re.findall("`([^`]+)`", head)
    }


def test_the_table_has_every_network_and_every_backend():
    workloads, backends = (set(names) for names in zip(*said(), strict=True))
    zoo = {name.partition(":")[0] for name in workloads}

    assert backends == {*registry.names("backends")} - {"python"}
    assert zoo == {name for name in registry.names("workloads") if name in SMALL}
    assert workloads == SMALL.keys()


@pytest.mark.parametrize(("workload", "backend"), [key for key in said() if key[1] not in RUNTIMES])
def test_a_framework_opens_what_the_table_says(workload, backend):
    name, _, params = workload.partition(":")
    known = registry.workload(name)
    given = {**known.params, **dict(part.split("=") for part in params.split(",") if part)}
    shared = [kind for kind in known.kinds if kind in registry.backend(backend).accepts]
    refused = not shared or getattr(known, "refuses", lambda *_: "")(shared[0], given)

    assert bool(refused) != said()[workload, backend]


@pytest.mark.real("keras", "jax", "onnxruntime")
@pytest.mark.family(workload="runtime_workloads")
@pytest.mark.parametrize("workload", SMALL)
def test_a_runtime_opens_what_the_table_says(workload, keras):
    import onnxruntime

    case = plan.resolve(parse_case(f"{SMALL[workload]}@onnxruntime"))
    jobs = []

    def build():
        jobs.append(registry.workload(case.workload).kinds["keras"](**case.params))
        return jobs[0]

    claims = {said()[workload, name] for name in RUNTIMES}
    if claims == {False}:
        with pytest.raises(AssayError, match=r"cannot be captured|does not tell its layers"):
            capture_job(build, case)
        return
    found = capture_job(build, case)
    session = onnxruntime.InferenceSession(onnx_bytes(found.graph))
    names = [one.name for one in session.get_inputs()]
    (outputs, *_) = session.run(None, dict(zip(names, found.inputs, strict=True)))
    wanted = np.asarray(jobs[0].model(jobs[0].train_batch[0], training=False))

    assert claims == {True} and emit(optimize(found.graph)).source
    assert np.abs(outputs - wanted).max() <= 1e-4 * np.abs(wanted).max()

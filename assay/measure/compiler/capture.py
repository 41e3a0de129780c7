"""Capture a model as a Graph with reference outputs.

For a model by name, Keras is loaded in another process.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.backends.keras import engines
from assay.core import guard, registry, start
from assay.core.case_text import parse_case
from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.files import read_plain, user_path
from assay.core.messages import MODEL_FILES, CaptureRefused, CaptureRequest
from assay.core.records import Case, Value
from assay.core.registry import backends_for
from assay.measure import plan, process_env
from assay.native import capture, files
from assay.native import expected as answers
from assay.native.expected import ReferenceOutputs
from assay.native.graph import Graph
from assay.native.onnx.read import import_onnx, onnx_reference

TIMEOUT = 600.0  # seconds, for loading Keras and building the largest model


class CapturedModel(msgspec.Struct, frozen=True):
    graph: Graph
    expected: ReferenceOutputs


def capture_by_name(
    model: str,
    weights: str | Path = "",
    params: Mapping[str, Value] | None = None,
    timeout: float = TIMEOUT,
    data: Path | None = None,
    save: Path | None = None,
) -> CapturedModel:
    """Capture `WORKLOAD[:k=v,…]`, `FILE.py:NAME`, `FILE.keras` or `FILE.h5`.

    `weights` is a file of weights that fits; default: the weights the model is built with.
    The images it is evaluated on are written to the folder `data`, its weights to the file `save`.
    """
    if missing := engines.missing_reason():
        raise NotPossibleError(
            f"{model} cannot be built: {missing.partition(':')[0]}.",
            hint=missing.partition(": ")[2],
        )
    request = msgspec.structs.replace(
        _make_request(model, weights, params or {}),
        data=str(data.absolute()) if data else "",
        save=str(save.absolute()) if save else "",
    )
    with tempfile.TemporaryDirectory(prefix="assay-capture-") as folder:
        return _capture_in_process(request, Path(folder), timeout)


def capture_model(
    model: Any, weights: str | Path = "", params: Mapping[str, Value] | None = None
) -> CapturedModel:
    """Capture a model by name in another process, a built model or an ONNX file in this one."""
    if isinstance(model, str) and Path(model).suffix == ".onnx":
        if weights or params:
            raise UsageError(
                f"{model} is a whole model, and takes no weights or parameters.",
                hint="Leave them out.",
            )
        imported = import_onnx(model)
        return CapturedModel(imported.graph, onnx_reference(model, imported))
    if isinstance(model, str):
        return capture_by_name(model, weights, params)
    if weights or params:
        raise UsageError(
            "A built model was given with weights or parameters.",
            hint="Load the weights into it, or give its name.",
        )
    if isinstance(model, Graph):
        return CapturedModel(model, answers.sample_reference(model))
    graph = capture.capture(model)
    return CapturedModel(graph, capture.reference_outputs(model, graph))


def _make_request(model: str, weights: str | Path, params: Mapping[str, Value]) -> CaptureRequest:
    """The request; raises for errors that can be detected without Keras."""
    file = str(user_path(weights).resolve()) if weights else ""
    if file and not Path(file).exists():
        raise UsageError(
            f"There is no weights file {weights}.",
            hint="It may be .npz, .keras, .weights.h5, .h5 or a folder of .bin files.",
        )
    if Path(model).suffix in MODEL_FILES:
        path = user_path(model).resolve()
        if not path.is_file():
            raise UsageError(f"There is no model file {model}.", hint="Save it with model.save.")
        if params:
            raise UsageError(
                f"{model} is a whole model, and takes no parameter {next(iter(params))}.",
                hint="Leave them out, or give the workload it was made from.",
            )
        return CaptureRequest(model=str(path), weights=file)
    case = parse_case(model)
    if case.backend != "?":
        raise UsageError(
            f"{model} names a backend, but a model is expected.", hint=f"Try: {case.workload}"
        )
    workload = registry.workload(case.workload)
    if engines.KIND not in workload.kinds:
        raise UsageError(
            f"{case.workload} has no Keras model: it is made for {', '.join(workload.kinds)}.",
            hint="assay list workloads shows those that have one.",
        )
    reads_weights = "weights" in workload.params  # it reads such a file itself, and knows its names
    params = {**case.params, **params, **({"weights": file} if reads_weights and file else {})}
    name = next(n for n in backends_for(workload) if engines.KIND in registry.backend(n).accepts)
    resolved = plan.resolve(Case(workload=case.workload, backend=name, params=params))
    return CaptureRequest(
        model=case.workload, weights="" if reads_weights else file, params=resolved.params
    )


def _capture_in_process(request: CaptureRequest, folder: Path, timeout: float) -> CapturedModel:
    (folder / "asked.json").write_bytes(msgspec.json.encode(request))
    command = [*start.command("assay.worker.capture"), str(folder)]
    try:
        process = subprocess.run(
            command,
            env={**os.environ, **_variables(folder), **guard.mark_environment()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise AssayError(
            f"{request.model} was not captured within {timeout:g} s.",
            hint="Is something in its file waiting?",
        ) from None
    return _read_reply(request, folder, process.stderr.decode(errors="replace"))


def _variables(folder: Path) -> dict[str, str]:
    return {
        **process_env.COMMON_VARIABLES,
        **engines.variables(engines.installed_engine(), "channels_last", folder),
        "CUDA_VISIBLE_DEVICES": "",  # nothing is computed: a GPU would only cost start-up time
        "JAX_PLATFORMS": "cpu",
    }


def _read_reply(request: CaptureRequest, folder: Path, output: str) -> CapturedModel:
    refused = folder / "refused.json"
    if refused.exists():
        refusal = msgspec.json.decode(read_plain(refused, 1 << 20), type=CaptureRefused)
        error = AssayError(refusal.sentence, hint=refusal.hint)
        error.status = refusal.status
        raise error
    if not (folder / "graph.npz").exists():
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "no word")
        raise AssayError(
            f"{request.model} could not be captured: its process ended with: {last.strip()}",
            hint="Does the model compute an output in Keras?",
        )
    return CapturedModel(files.read(folder / "graph.npz"), answers.read(folder / "answers.npz"))

"""A compiled model: a step is one call of its library over a fixed batch."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from assay.backends import options
from assay.backends.captured import CapturedJob, OnnxFile, join_outputs
from assay.backends.captured._onnx_check import check_once
from assay.core import fingerprint, phases
from assay.core.records import Case, Value
from assay.native.build import ModelFiles, build
from assay.native.emit import emit
from assay.native.graph import Graph
from assay.native.hpvm.configs import split_config_name
from assay.native.knobs.apply import apply_knobs
from assay.native.knobs.calibration_file import load_items
from assay.native.knobs.from_config import read_knobs
from assay.native.library import LoadedModel
from assay.native.onnx.read import ImportedModel, import_onnx
from assay.native.passes.pipeline import optimize
from assay.native.toolchain import Kernels, toolchain

SELECTION_SECONDS = 4.0  # seconds for choosing kernels when the case is opened


class NativeSession:
    def __init__(self, captured: CapturedJob | OnnxFile, case: Case) -> None:
        self._captured, self._case = captured, case
        self.items = captured.items
        kernels = cast(Kernels, case.options["kernels"])
        self._tools = toolchain(kernels)
        self._model, inputs = _model_and_inputs(captured)
        emitted = emit(_apply_config(self._model.graph, str(case.options["config"]), inputs))
        self._built = build(emitted, self._tools)
        self._checked = _check(captured, case, self._built)
        self._threads = len(os.sched_getaffinity(0))
        self._loaded = LoadedModel(
            self._built, emitted, len(inputs[0]), self._threads, kernels, SELECTION_SECONDS
        )
        self._batch = inputs
        self.set_inputs(self.fresh_inputs(0))

    def fresh_inputs(self, number: int) -> Any:
        """The arrays, and a call that reads them."""
        arrays = tuple(options.vary(array, number) for array in self._batch)
        return arrays, self._loaded.bind(*arrays)

    def set_inputs(self, inputs: Any) -> None:
        _, (self._step, self._outputs) = inputs

    def step(self) -> None:
        self._step()

    def wait(self) -> None:
        pass  # a call returns when its outputs are written

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        return fingerprint.sample_values(
            join_outputs(self._model.in_file_shape([each.copy() for each in self._outputs]))
        )

    def outputs(self) -> Any:
        self._step()
        return join_outputs(self._model.in_file_shape([each.copy() for each in self._outputs]))

    def read(self) -> object:
        return self._outputs[0].ravel()[:1].copy()

    def predict(self, inputs: Any) -> Any:
        """Outputs of a batch; a Keras model's images are channels last."""
        batches = self._model.batches([self._captured.to_graph_layout(inputs)])
        return self._model.in_file_shape(self._loaded.run(*batches)[:1])[0]

    def facts(self) -> Mapping[str, Value]:
        counts = Counter(self._loaded.kernels)
        return {
            **self._captured.facts(self._case),
            "threads": self._threads,
            "kernels": ", ".join(f"{count} {name}" for name, count in counts.items()),
            "images_at_once": self._loaded.at_once,
            "onednn": bool(self._tools.onednn),
            "cxx": self._tools.version,
            "build_cached": self._built.cached,
            **({"checked": self._checked} if self._checked else {}),
        }


def _check(source: CapturedJob | OnnxFile, case: Case, built: ModelFiles) -> str:
    """Of an ONNX file; a configuration changes what it computes."""
    if isinstance(source, CapturedJob) or case.options["config"]:
        return ""
    shapes = {name: array.shape for name, array in source.inputs_by_name().items()}
    with phases.during("checks"):
        return check_once(source.path, shapes, built, cast(Kernels, case.options["kernels"]))


def _apply_config(graph: Graph, config: str, inputs: tuple[Any, ...]) -> Graph:
    """Calibrate on the items stored next to the configurations, else on the batch."""
    best = optimize(graph)
    if not config:
        return best
    path, name = split_config_name(config)
    knobs = read_knobs(graph, path, name)
    items = load_items(path, graph) or tuple(batch[:64] for batch in inputs)
    return apply_knobs(best, knobs, items)


def _model_and_inputs(source: CapturedJob | OnnxFile) -> tuple[ImportedModel, tuple[Any, ...]]:
    """The graph, and a batch for each of its inputs."""
    if isinstance(source, CapturedJob):
        batches = tuple(np.asarray(batch, np.float32) for batch in source.inputs)
        dtypes = ("float32",) * len(source.graph.outputs)
        return ImportedModel(source.graph, dtypes), batches
    arrays = source.inputs_by_name()
    imported = import_onnx(source.path, {name: array.shape for name, array in arrays.items()})
    inputs = imported.batches([arrays[value.name] for value in imported.graph.inputs])
    return imported, tuple(np.ascontiguousarray(batch, np.float32) for batch in inputs)


open_session = NativeSession

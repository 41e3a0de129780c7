"""A compiled model: a step is one call of its library over a fixed batch."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from assay.backends.captured import Captured, OnnxFile, joined
from assay.core.records import Case, Value
from assay.native.build import build
from assay.native.emit import emit
from assay.native.graph import Graph
from assay.native.hpvm.configs import config_named
from assay.native.knobs.apply import applied
from assay.native.knobs.calibration_file import items_beside
from assay.native.knobs.from_config import knobs_in
from assay.native.library import Loaded
from assay.native.onnx.read import read_onnx
from assay.native.passes.pipeline import optimized
from assay.native.toolchain import Kernels, toolchain

CHOOSING = 4.0  # seconds for choosing kernels when the case is opened


class NativeSession:
    def __init__(self, captured: Captured | OnnxFile, case: Case) -> None:
        self._captured, self._case = captured, case
        self.items = captured.items
        kernels = cast(Kernels, case.options["kernels"])
        self._tools = toolchain(kernels)
        graph, inputs = _taken(captured)
        emitted = emit(_with_knobs(graph, str(case.options["config"]), inputs))
        self._built = build(emitted, self._tools)
        self._threads = len(os.sched_getaffinity(0))
        self._loaded = Loaded(
            self._built, emitted, len(inputs[0]), self._threads, kernels, CHOOSING
        )
        self._step, self._outputs = self._loaded.bind(*inputs)

    def step(self) -> None:
        self._step()

    def wait(self) -> None:
        pass  # a call returns when its outputs are written

    def outputs(self) -> Any:
        self._step()
        return joined([output.copy() for output in self._outputs])

    def read(self) -> object:
        return self._outputs[0].ravel()[:1].copy()

    def predict(self, inputs: Any) -> Any:
        """Outputs of a batch; a Keras model's images are channels last."""
        return self._loaded.run(self._captured.to_graph_layout(inputs))[0]

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
        }


def _with_knobs(graph: Graph, config: str, inputs: tuple[Any, ...]) -> Graph:
    """Calibrate on the items stored next to the configurations, else on the batch."""
    best = optimized(graph)
    if not config:
        return best
    path, name = config_named(config)
    knobs = knobs_in(graph, path, name)
    items = items_beside(path, graph) or tuple(batch[:64] for batch in inputs)
    return applied(best, knobs, items)


def _taken(source: Captured | OnnxFile) -> tuple[Graph, tuple[Any, ...]]:
    """The graph, and a batch for each of its inputs."""
    if isinstance(source, Captured):
        return source.graph, tuple(np.asarray(batch, np.float32) for batch in source.inputs)
    arrays = source.inputs_by_name()
    graph = read_onnx(source.path, {name: array.shape[1:] for name, array in arrays.items()})
    batches = (np.ascontiguousarray(arrays[value.name], np.float32) for value in graph.inputs)
    return graph, tuple(batches)


open_session = NativeSession

"""A compiled model: a step is one call of its library on a batch that stays in place."""

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

CHOOSING = 4.0  # seconds for timing kernels, while the case is opened


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
        self._step, self._outputs = self._loaded.bound(*inputs)

    def step(self) -> None:
        self._step()

    def wait(self) -> None:
        pass  # a call returns when its outputs are written

    def outputs(self) -> Any:
        self._step()
        return joined([each.copy() for each in self._outputs])

    def read(self) -> object:
        return self._outputs[0].ravel()[:1].copy()

    def predict(self, inputs: Any) -> Any:
        """Outputs of a batch; images of a Keras model are channels last."""
        return self._loaded.run(self._captured.given(inputs))[0]

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
    """Ranges come from the items that a tuning stored with its configurations, else the batch."""
    best = optimized(graph)
    if not config:
        return best
    path, name = config_named(config)
    knobs = knobs_in(graph, path, name)
    items = items_beside(path, graph) or tuple(each[:64] for each in inputs)
    return applied(best, knobs, items)


def _taken(captured: Captured | OnnxFile) -> tuple[Graph, tuple[Any, ...]]:
    """The graph, and a batch for each of its inputs, in order."""
    if isinstance(captured, Captured):
        return captured.graph, tuple(np.asarray(each, np.float32) for each in captured.inputs)
    arrays = captured.named()
    graph = read_onnx(captured.path, {name: array.shape[1:] for name, array in arrays.items()})
    ordered = (np.ascontiguousarray(arrays[value.name], np.float32) for value in graph.inputs)
    return graph, tuple(ordered)


open_session = NativeSession

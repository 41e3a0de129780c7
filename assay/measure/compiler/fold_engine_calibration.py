"""Knobs for a model's layers, and the items from which the ranges of int8 are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.core import registry
from assay.core.contracts import WithExamples
from assay.core.errors import NotPossibleError
from assay.core.messages import MODEL_FILES
from assay.measure import plan
from assay.native.compile import Changes
from assay.native.graph import Array, Graph
from assay.native.hpvm.configs import config_named
from assay.native.knobs.calibration_file import items_beside
from assay.native.knobs.from_config import knobs_in

ITEMS = 64  # of a model's own tune pictures


def calibrated(
    model: Any,  # noqa: ANN401 (a name, a file, a keras.Model or a Graph)
    graph: Graph,
    knobs: Mapping[str, int] | str | Path,
    items: Sequence[Any] = (),
) -> Changes:
    """Knobs by layer, or FILE or FILE:NAME of a configuration file; `items` for each input.

    Without any, those that a tuning kept beside its configurations, else the model's own.
    """
    held = tuple(np.asarray(each, np.float32) for each in items)
    if not isinstance(knobs, Mapping):
        path, name = config_named(knobs)
        knobs = knobs_in(graph, path, name)
        held = held or items_beside(path, graph)
    if knobs and not held and isinstance(model, str):
        held = _own_images(model, graph)
    return Changes(knobs=knobs, items=held)


def _own_images(model: str, graph: Graph) -> tuple[Array, ...]:
    """A model's own tune pictures, as the graph takes them; () where it has none."""
    if Path(model).suffix in (*MODEL_FILES, ".onnx") or len(graph.inputs) > 1:
        return ()
    case = plan.parse_case(model)
    workload = registry.workload(case.workload)
    if not isinstance(workload, WithExamples):
        return ()
    try:
        found = workload.examples(str(case.params.get("data", "own")), "tune")
    except NotPossibleError:
        return ()
    ready = np.asarray(found.ready(found.inputs[:ITEMS]), np.float32)
    wanted = graph.inputs[0].shape
    laid = ready if ready.shape[1:] == wanted else np.moveaxis(ready, -1, 1)
    return (np.ascontiguousarray(laid),) if laid.shape[1:] == wanted else ()

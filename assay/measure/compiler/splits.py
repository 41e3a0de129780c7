"""Data splits of a tuning: calibration, search, confirmation and test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.contracts import WithExamples
from assay.core.corrupt import DAMAGED_HINT
from assay.core.errors import NotPossibleError, UsageError
from assay.core.files import user_path
from assay.core.messages import MODEL_FILES
from assay.core.sessions import Examples
from assay.core.units import plural
from assay.native.compile import Changes
from assay.native.graph import Array, Graph, Value
from assay.native.hpvm.configs import split_config_name
from assay.native.knobs.calibration_file import load_items
from assay.native.knobs.from_config import read_knobs
from assay.native.tuner.accuracy_loss import required_images
from assay.native.tuner.records import LabelledImages, TuneSplits

SELECTION_SHARE = 1 / 3  # of the tune set after calibration; the rest confirms
MAX_SPLIT_BYTES = 600e6  # bytes of images of a set
_NAMES = (("inputs", "labels"), ("x", "y"))


def images(model: str, data: str, graph: Graph, max_loss: float, seed: int) -> TuneSplits:
    """The splits of a data file, or of the model's own data; `graph` is the captured one."""
    tune, test = _read_split(data, graph, seed) if data else _own_images_split(model, graph)
    needed = math.ceil(required_images(max_loss) / (1 - SELECTION_SHARE)) + CALIBRATION_ITEMS
    if len(tune.labels) < needed:
        both = f", and as many to test, {2 * needed} in all" if data else ""
        raise UsageError(
            f"There are {len(tune.labels)} images to tune with, but a loss of at "
            f"most {plural(float(max_loss), 'point')} cannot be promised from fewer than "
            f"{needed}{both}.",
            hint="Give more images with --data, or allow a larger --max-loss.",
        )
    _check_labels(tune, test, graph)
    order = (
        np.random.default_rng(seed).permutation(len(tune.labels) - CALIBRATION_ITEMS)
        + CALIBRATION_ITEMS
    )
    count = round(SELECTION_SHARE * len(order))
    return TuneSplits(
        calibration=tune.inputs[:CALIBRATION_ITEMS],
        choosing=tune.subset(np.sort(order[:count])),
        confirming=tune.subset(np.sort(order[count:])),
        test=test,
    )


def calibration_items(data: str, graph: Graph, seed: int = 0) -> Array:
    """The calibration items of a tuning with this file, in the graph's layout."""
    items = _read_split(data, graph, seed)[0].inputs[:CALIBRATION_ITEMS]
    channels_last = graph.inputs[0].layout == "channels_last"
    return np.ascontiguousarray(np.moveaxis(items, 1, -1)) if channels_last else items


def _own_images_split(model: str, graph: Graph) -> tuple[LabelledImages, LabelledImages]:
    known = Path(model).suffix not in (*MODEL_FILES, ".onnx")
    case = parse_case(model) if known else None
    workload = registry.workload(case.workload) if case else None
    if case is None or not isinstance(workload, WithExamples):
        raise UsageError(
            f"{model} has no images of its own, and no data was given.",
            hint="Give --data FILE.npz with the arrays inputs and labels.",
        )
    data = str(case.params.get("data", "own"))
    tune, test = (
        _prepare_examples(workload.examples(data, split), graph) for split in ("tune", "test")
    )
    return tune, test


def _prepare_examples(examples: Examples, graph: Graph) -> LabelledImages:
    size = 4 * math.prod(graph.inputs[0].shape)
    count = min(len(examples.labels), int(MAX_SPLIT_BYTES / size))
    inputs = np.asarray(examples.ready(examples.inputs[:count]), np.float32)
    return LabelledImages(
        _to_channels_first(inputs, graph.inputs[0]), np.asarray(examples.labels[:count], np.int64)
    )


def _read_split(path: str, graph: Graph, seed: int) -> tuple[LabelledImages, LabelledImages]:
    arrays = _arrays(path)
    for inputs, labels in _NAMES:
        names = [f"{name}_{split}" for split in ("tune", "test") for name in (inputs, labels)]
        if all(name in arrays for name in names):
            tune, test = (
                _labelled_images(
                    path, graph, arrays[f"{inputs}_{split}"], arrays[f"{labels}_{split}"]
                )
                for split in ("tune", "test")
            )
            return tune, test
        if inputs in arrays and labels in arrays:
            labelled = _labelled_images(path, graph, arrays[inputs], arrays[labels])
            order = np.random.default_rng(seed).permutation(len(labelled.labels))
            half = len(order) // 2
            return labelled.subset(order[:half]), labelled.subset(order[half:])
    raise UsageError(
        f"{path} holds {', '.join(arrays) or 'nothing'}, but inputs and labels are expected.",
        hint="np.savez('my.npz', inputs=images, labels=classes); or inputs_tune, labels_tune, "
        "inputs_test and labels_test.",
    )


def _arrays(path: str) -> Mapping[str, Array]:
    try:
        with np.load(user_path(path), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise UsageError(f"There is no data file {path}.", hint="Give an .npz file.") from None
    except (*DAMAGED_HINT, AttributeError) as error:
        raise UsageError(
            f"{path} is no .npz file of arrays ({error}).", hint="Write it with np.savez."
        ) from None


def _labelled_images(path: str, graph: Graph, inputs: Array, labels: Array) -> LabelledImages:
    value = graph.inputs[0]
    images = (
        _to_channels_first(np.asarray(inputs, np.float32), value) if inputs.ndim > 1 else inputs
    )
    if images.shape[1:] != _first(value):
        raise UsageError(
            f"{path} holds items of {inputs.shape[1:]}, but {graph.name} takes {value.shape}.",
            hint="Prepare them as for model.predict.",
        )
    if labels.shape != (len(inputs),) or labels.dtype.kind not in "iu":
        raise UsageError(
            f"{path} has labels of {labels.shape} {labels.dtype}, but one class number for each of "
            f"{len(inputs)} items is expected.",
            hint="labels=np.argmax(one_hot, axis=1)",
        )
    return LabelledImages(images, labels.astype(np.int64))


def _check_labels(tune: LabelledImages, test: LabelledImages, graph: Graph) -> None:
    classes = math.prod(graph.shapes()[graph.outputs[0]])
    highest = max(int(images.labels.max(initial=0)) for images in (tune, test))
    if highest >= classes:
        raise UsageError(
            f"A label is {highest}, but {graph.name} has {classes} classes.",
            hint="Labels count from 0.",
        )


def _first(value: Value) -> tuple[int, ...]:
    channels_last = value.layout == "channels_last"
    return (value.shape[2], *value.shape[:2]) if channels_last else value.shape


def _to_channels_first(inputs: Array, value: Value) -> Array:
    """Inputs with channels first, from either layout."""
    channels_last = value.layout == "channels_last"
    if inputs.ndim == 4 and (channels_last or inputs.shape[1:] != value.shape):
        inputs = np.moveaxis(inputs, -1, 1)
    return np.ascontiguousarray(inputs, np.float32)


CALIBRATION_ITEMS = 64  # of a model's own tune images


def calibrate_knobs(
    model: Any, graph: Graph, knobs: Mapping[str, int] | str | Path, items: Sequence[Any] = ()
) -> Changes:
    """Knobs by layer, or from FILE or FILE:NAME of a configuration file; `items` for each input.

    Default items: those stored next to the configurations, else the model's own.
    """
    batches = tuple(np.asarray(item, np.float32) for item in items)
    if not isinstance(knobs, Mapping):
        path, name = split_config_name(knobs)
        knobs = read_knobs(graph, path, name)
        batches = batches or load_items(path, graph)
    if knobs and not batches and isinstance(model, str):
        batches = _own_images(model, graph)
    return Changes(knobs=knobs, items=batches)


def _own_images(model: str, graph: Graph) -> tuple[Array, ...]:
    """A model's own tune images, in the graph's layout; () if it has none."""
    if Path(model).suffix in (*MODEL_FILES, ".onnx") or len(graph.inputs) > 1:
        return ()
    case = parse_case(model)
    workload = registry.workload(case.workload)
    if not isinstance(workload, WithExamples):
        return ()
    try:
        examples = workload.examples(str(case.params.get("data", "own")), "tune")
    except NotPossibleError:
        return ()
    inputs = np.asarray(examples.ready(examples.inputs[:CALIBRATION_ITEMS]), np.float32)
    shape = graph.inputs[0].shape
    images = inputs if inputs.shape[1:] == shape else np.moveaxis(inputs, -1, 1)
    return (np.ascontiguousarray(images),) if images.shape[1:] == shape else ()

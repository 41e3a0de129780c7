"""Evaluation of the ten networks: trained weights and real images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from assay.core.errors import EndingError, UsageError
from assay.core.files import user_path
from assay.core.records import Evaluation, Value
from assay.core.sessions import Examples
from assay.datasets import catalog, library
from assay.datasets.dataset import Dataset, split_sizes
from assay.datasets.library import folders
from assay.datasets.prepare import prepare
from assay.weights import files
from assay.weights.fit import assign, shape_mismatches
from assay.weights.layers import Layer as Stored
from assay.weights.layers import kind_of, name_layers
from assay.workloads.accuracy import KERAS_MODEL_FILE, RELOAD_DIR, TRAINED, AccuracyWorkload
from assay.workloads.net import nets
from assay.workloads.net.layers import Layer, Residual, variables
from assay.workloads.net.nets import Net

Arrays = Mapping[str, NDArray[Any]]


def weights(
    workload: AccuracyWorkload, net: Net, seed: int, chosen: str
) -> tuple[Arrays, dict[str, Value]]:
    """Weights of the seed or of a file, and their facts for a result."""
    if not chosen:
        return nets.weights(net, seed), {}
    path = weights_file(workload, chosen)
    if path is None:
        raise EndingError("skipped", _no_weights(workload, chosen))
    arrays = fit_weights(net, files.read(path, weight_layers(net)))
    return arrays, {"weights_file": str(path), "weights_digest": files.digest(path)}


def evaluation_images(workload: AccuracyWorkload, data: str, split: str, first: int) -> Examples:
    """A split of its dataset, or the `first` images of it; prepared when needed."""
    dataset, rule = _dataset(workload, data)
    examples = library.load(dataset, split, first or None)
    source = library.find(dataset)
    return Examples(
        inputs=examples.inputs,
        labels=examples.labels,
        ready=partial(prepare, rule=rule),
        facts={
            "dataset": dataset.name,
            "data_place": str(source.path) if source else "",
            "preparation": rule,
            "classes": dataset.classes,
        },
    )


def missing_data(
    workload: AccuracyWorkload,
    params: Mapping[str, Value],
    evaluation: Evaluation,
    home: Path | None,
) -> str:
    """What is missing for an evaluation, or ""."""
    missing = []
    chosen = str(params["weights"])
    if chosen and weights_file(workload, chosen, home) is None:
        missing.append(_no_weights(workload, chosen))
    dataset, _ = _dataset(workload, str(params["data"]))
    source = library.find(dataset, home)
    if source is None:
        how = library.fetch_hint(dataset).removesuffix(".")
        missing.append(f"the images of {dataset.name} are not here: {how}")
    elif evaluation.first > (size := split_sizes(source)[evaluation.split]):
        raise UsageError(
            f"The first {evaluation.first} images of {evaluation.split} were asked for, "
            f"but {source.path} has {size}.",
            hint=f"Ask for 1 to {size}, or for none to take all.",
        )
    return "; ".join(missing)


def weights_file(workload: AccuracyWorkload, chosen: str, home: Path | None = None) -> Path | None:
    """A file or folder by its path or HPVM's name; None if it does not exist. Without HPVM's `.h5`
    the trained weights `weights/NAME.npz` beside the data are used."""
    names = [f"weights/{name}.npz" for name in (workload.name, workload.also) if name]
    known = {
        TRAINED: names,
        KERAS_MODEL_FILE: [hpvm_file(workload), *names],
        RELOAD_DIR: [f"model_params/{workload.hpvm}"],
    }
    if chosen not in known:
        return user_path(chosen)
    paths = (folder / name for name in known[chosen] for folder in folders(home))
    return next((path for path in paths if path.exists()), None)


def hpvm_file(workload: AccuracyWorkload) -> str:
    """The path of HPVM's Keras weights in a data folder."""
    return f"model_params/keras/{workload.hpvm}.h5"


def weight_layers(net: Net) -> list[Stored]:
    """Its layers as in files of weights, in order of creation."""
    flattened = net.flattened_shapes()
    return [
        Stored(
            kind=kind_of(layer.name),
            shapes=variables(layer.layer, layer.before),
            flattened=flattened.get(layer.name, ()),
            name=layer.name,
        )
        for layer in net.positions()
        if layer.name
    ]


def fit_weights(net: Net, arrays: Arrays) -> Arrays:
    """The weights under the net's names; an error names the layer that they do not fit."""
    layers = weight_layers(net)
    if any(shape_mismatches(layers, arrays)):
        renamed = _rename_weights(net, arrays)
        arrays = arrays if any(shape_mismatches(layers, renamed)) else renamed
    return {
        f"{name}/{variable}": array
        for (name, layer), values in zip(name_layers(layers), assign(layers, arrays), strict=True)
        for variable, array in zip(layer.shapes, values, strict=True)
    }


def _rename_weights(net: Net, arrays: Arrays) -> Arrays:
    """Weights whose names were counted in Keras' order of layers, not in order of creation."""
    ours = [layer.name for layer in net.positions() if layer.name]
    by_depth = list(_names_by_depth(net.layers, iter(ours)))
    counts: dict[str, int] = {}
    names = {}
    for name in by_depth:
        kind = kind_of(name)
        counts[kind] = counts.get(kind, 0) + 1
        names[f"{kind}_{counts[kind]}"] = name
    parts = [(*key.rpartition("/"), array) for key, array in arrays.items()]
    return {f"{names.get(owner, owner)}/{own}": array for owner, _, own, array in parts}


def _names_by_depth(layers: tuple[Layer, ...], ours: Iterator[str]) -> Iterator[str]:
    """Names by depth from the sum backwards: a shortcut's layer comes before the body's."""
    for layer in layers:
        if isinstance(layer, Residual):
            body, shortcut = (
                list(_names_by_depth(layer.body, ours)),
                list(_names_by_depth(layer.shortcut, ours)),
            )
            alone = len(body) - len(shortcut)
            yield from body[:alone]
            for pair in zip(shortcut, body[alone:], strict=True):
                yield from pair
        elif variables(layer, (1,)):
            yield next(ours)


def _dataset(workload: AccuracyWorkload, data: str) -> tuple[Dataset, str]:
    """HPVM's images are prepared already."""
    if data == "own":
        return catalog.get(workload.dataset), workload.preparation
    return catalog.get(f"model_params/{workload.hpvm}"), "none"


def _no_weights(workload: AccuracyWorkload, chosen: str) -> str:
    if chosen == RELOAD_DIR:
        return f"model_params/{workload.hpvm} is not here: assay data fetch model_params"
    if chosen == KERAS_MODEL_FILE:
        train = f", or train it: assay hpvm {workload.name} train keras_dump"
        return (
            f"model_params/keras/{workload.hpvm}.h5 is not here: assay data fetch model_params"
            + (train if workload.recipe else "")
        )
    return (
        f"{workload.name} has no trained weights here: give --weights FILE, "
        f"or put weights/{workload.name}.npz into the folder ASSAY_DATA names"
    )

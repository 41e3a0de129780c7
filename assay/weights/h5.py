"""Keras' HDF5 files: `.weights.h5` of Keras 3, alone or inside `.keras`, and the older `.h5`."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import NotPossibleError, UsageError
from assay.weights.layers import (
    VARIABLES,
    StoredLayer,
    Weights,
    by_layer,
    canonical_weights,
    kind_of,
    snake_case,
)

_INSIDE = "model.weights.h5"
_OLD_NAMES = {"depthwise_kernel": "kernel"}  # in Keras 2


def read_h5(source: Path | BinaryIO, order: Mapping[str, str] | None = None) -> Weights:
    """Either kind of HDF5 file. `order`, from a .keras file, maps groups to names, in order."""
    with _h5py().File(source, "r") as file:
        root = file.get("model_weights", file)
        if "layer_names" in root.attrs:
            return canonical_weights(_old_layers(root))
        return canonical_weights(_layers(root, order or {}))


def read_keras(path: Path) -> Weights:
    """The weights of a whole saved model."""
    with zipfile.ZipFile(path) as archive:
        config = json.loads(archive.read("config.json"))
        weights = io.BytesIO(archive.read(_INSIDE))
    return read_h5(weights, _groups(config["config"].get("layers", [])))


def write_h5(path: Path, weights: Mapping[str, NDArray[Any]]) -> None:
    """Like Keras 3's save_weights: groups are numbered from 0 in order."""
    counts: dict[str, int] = {}
    with _h5py().File(path, "w") as file:
        for name, variables in by_layer(weights).items():
            kind = kind_of(name)
            count = counts[kind] = counts.get(kind, -1) + 1
            group = file.create_group(f"layers/{kind}_{count}/vars".replace("_0/", "/"))
            group.attrs["name"] = name
            for index, array in enumerate(_sort_variables(name, variables)):
                group[str(index)] = np.asarray(array, np.float32)


def write_old_h5(path: Path, weights: Mapping[str, NDArray[Any]]) -> None:
    """Like Keras 2's save_weights: one group per layer, names in attributes."""
    with _h5py().File(path, "w") as file:
        layers = by_layer(weights)
        file.attrs["layer_names"] = [name.encode() for name in layers]
        file.attrs["backend"], file.attrs["keras_version"] = b"tensorflow", b"2.1.6"
        for name, variables in layers.items():
            old = "depthwise_" if kind_of(name) == "depthwise_conv2d" else ""
            keys = [f"{name}/{old * (v == 'kernel')}{v}:0" for v in variables]
            group = file.create_group(name)
            group.attrs["weight_names"] = [key.encode() for key in keys]
            for key, array in zip(keys, variables.values(), strict=True):
                group[key] = np.asarray(array, np.float32)


def _layers(root: Any, order: Mapping[str, str]) -> Iterator[StoredLayer]:
    """Groups of a Keras 3 file with variables of a layer, in the model's order if known."""
    paths: list[str] = []
    root.visit(lambda path: paths.append(path) if path.endswith("/vars") else None)
    known = list(order)

    def model_position(path: str) -> tuple[int, list[int | str]]:
        group = path.removesuffix("/vars")
        return known.index(group) if group in order else len(known), _natural(path)

    for path in sorted(paths, key=model_position):
        group = path.split("/")[-2]
        arrays = [np.asarray(root[path][key]) for key in sorted(root[path], key=int)]
        if arrays and not path.startswith("optimizer") and group != "seed_generator":
            kind = re.sub(r"_\d+$", "", group)
            name = order.get(path.removesuffix("/vars")) or _text(
                root[path].attrs.get("name", group)
            )
            yield StoredLayer(
                kind, name, dict(zip(_variables(kind, len(arrays)), arrays, strict=True))
            )


def _variables(kind: str, count: int) -> tuple[str, ...]:
    known = VARIABLES.get(kind, ())
    if kind == "batch_normalization" and count == 2:
        return known[2:]  # neither scale nor centre
    if not known or count > len(known) or (kind == "batch_normalization" and count == 3):
        raise UsageError(
            f"The file has a layer '{kind}' with {count} variables, whose names are not known.",
            hint=f"Known are {', '.join(VARIABLES)}.",
        )
    return known[:count]


def _old_layers(root: Any) -> Iterator[StoredLayer]:
    for group_name in map(_text, root.attrs["layer_names"]):
        layers: dict[str, dict[str, NDArray[Any]]] = {}
        for key in map(_text, root[group_name].attrs["weight_names"]):
            *parents, variable = key.partition(":")[0].split("/")
            plain = re.sub(r"_\d+$", "", group_name) in VARIABLES or not parents
            layer = layers.setdefault(group_name if plain else parents[-1], {})
            layer[variable] = np.asarray(root[group_name][key])
        for name, variables in layers.items():
            renamed = {_OLD_NAMES.get(v, v): array for v, array in variables.items()}
            yield StoredLayer(_old_kind(name, variables), name, renamed)


def _old_kind(name: str, variables: Mapping[str, NDArray[Any]]) -> str:
    """By Keras' name, or for a user's name by the variables of the layer."""
    kind = re.sub(r"_\d+$", "", name)
    if kind in VARIABLES:
        return kind
    if "moving_mean" in variables:
        return "batch_normalization"
    if "depthwise_kernel" in variables:
        return "depthwise_conv2d"
    ranks = {4: "conv2d", 3: "conv1d", 2: "dense"}
    rank = variables["kernel"].ndim if "kernel" in variables else 0
    if rank not in ranks:
        raise UsageError(
            f"The file has a layer '{name}' of an unknown kind, with {', '.join(variables)}.",
            hint=f"Known are {', '.join(VARIABLES)}.",
        )
    return ranks[rank]


def _groups(layers: list[dict[str, Any]]) -> dict[str, str]:
    """Group in the weights file → layer name, by Keras' rule for groups."""
    counts: dict[str, int] = {}
    names = {}
    for layer in layers:
        kind = snake_case(layer["class_name"])
        count = counts[kind] = counts.get(kind, -1) + 1
        group = f"{kind}_{count}" if count else kind
        names[f"layers/{group}"] = str(layer["config"].get("name", ""))
    return names


def _sort_variables(name: str, variables: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    known = VARIABLES.get(kind_of(name), tuple(variables))
    return [variables[v] for v in sorted(variables, key=known.index)]


def _natural(path: str) -> list[int | str]:
    """Sort key with conv2d_10 after conv2d_9."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", path)]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise NotPossibleError(
            "Weights in HDF5 files need h5py, which is not installed.",
            hint="pip install 'assay-lab[data]'",
        ) from None
    return h5py

"""Keras' engines: which are here, and the world in which Keras takes one and nothing else."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import msgspec

KIND = "keras"  # what a workload calls its Keras model
ENGINES = ("jax", "torch", "tensorflow")  # the quickest to load first


def installed() -> str:
    """The first engine that Keras finds here, or "" where it can find none."""
    found = (name for name in ENGINES if importlib.util.find_spec(name) is not None)
    return next(found, "") if importlib.util.find_spec("keras") is not None else ""


def lacking() -> str:
    """Why no Keras model can be built here, with the remedy, or ""."""
    if installed():
        return ""
    return "Keras is not installed here with an engine: pip install 'assay[jax]'"


def variables(engine: str, data_format: str, folder: Path) -> Mapping[str, str]:
    """A Keras home of its own: the user's keras.json must not change a number."""
    home = folder / "keras-home"
    home.mkdir(exist_ok=True)
    settings = {
        "backend": engine,
        "floatx": "float32",
        "epsilon": 1e-7,
        "image_data_format": data_format,
    }
    (home / "keras.json").write_bytes(msgspec.json.encode(settings))
    return {"KERAS_HOME": str(home), "KERAS_BACKEND": engine}
